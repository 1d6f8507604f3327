#include "cli/common_options.h"

#include <unistd.h>

#include <utility>

#include "core/error.h"

namespace attn::cli {
namespace {

std::string format_word(Format format) {
  switch (format) {
    case Format::kText:
      return "text";
    case Format::kTsv:
      return "tsv";
    case Format::kCsv:
      return "csv";
    case Format::kJson:
      return "json";
    case Format::kJsonLines:
      return "jsonl";
    case Format::kMarkdown:
      return "md";
    case Format::kNpy:
      return "npy";
  }
  return "";
}

void check_npy(const OptionTable& table) {
  const Option* output = table.find("output");
  if (output != nullptr && !output->given().empty() && output->given().front() == "-") {
    throw UsageError("--format npy and --output - both write to stdout", {"give --output a file"});
  }
  if (isatty(STDOUT_FILENO) != 0) {
    throw UsageError("--format npy would write binary data to the terminal",
                     {"send it to a file or a pipe: > table.npy"});
  }
}

}  // namespace

Option& input_option(OptionTable& table, std::string& field, std::string help) {
  return table.input("input", field, std::move(help)).letter('i').operand();
}

Option& output_option(OptionTable& table, std::string& field, std::string help) {
  return table.output("output", field, std::move(help)).letter('o');
}

void format_options(OptionTable& table, Format& field, const std::vector<Format>& offered) {
  std::vector<std::pair<std::string, Format>> words;
  words.reserve(offered.size());
  for (const Format format : offered) words.emplace_back(format_word(format), format);
  table.choice("format", field, std::move(words), "how the report is written").not_data();
  bool has_json = false;
  for (const Format format : offered) has_json |= format == Format::kJson;
  if (has_json) {
    table
        .action(
            "json", [] {}, "the same as --format json")
        .not_data();
  }
  table.check([&table, &field, has_json] {
    if (has_json && table.given("json")) {
      if (table.given("format") && field != Format::kJson) {
        throw UsageError("--json and --format " + format_word(field) + " contradict each other");
      }
      field = Format::kJson;
    }
    if (field == Format::kNpy) check_npy(table);
    const Option* show = table.find("show");
    if (show != nullptr && !show->given().empty() && field != Format::kText) {
      throw UsageError("--show draws a picture; it goes with --format text only");
    }
  });
}

void show_options(OptionTable& table, bool& field, std::string help) {
  table.flag("show", field, std::move(help)).not_data();
  table
      .choice("color", table.manner.color,
              std::vector<std::pair<std::string, ColorChoice>>{{"auto", ColorChoice::kAuto},
                                                               {"always", ColorChoice::kAlways},
                                                               {"never", ColorChoice::kNever}},
              "colours in pictures")
      .not_data();
  table
      .action(
          "no-color", [] {}, "the same as --color never")
      .not_data();
  table.check([&table] {
    if (!table.given("no-color")) return;
    if (table.given("color") && table.manner.color != ColorChoice::kNever) {
      throw UsageError("--no-color and --color contradict each other");
    }
    table.manner.color = ColorChoice::kNever;
  });
}

void progress_option(OptionTable& table) {
  table
      .action(
          "no-progress", [&table] { table.manner.progress = false; }, "no progress on stderr")
      .not_data();
}

Option& seed_option(OptionTable& table, Index& field) {
  return table.count("seed", field, "seed of all random numbers").at_least(0);
}

Option& threads_option(OptionTable& table, Index& field) {
  constexpr Index kMostThreads = 4096;
  return table.count("threads", field, "threads to use; the results do not depend on it")
      .at_most(kMostThreads)
      .default_is("all cores")
      .not_data();
}

Option& dataset_option(OptionTable& table, std::string& field, std::string help) {
  return table.text("dataset", field, std::move(help)).argument("PATH");
}

Option& max_bytes_option(OptionTable& table, Index& field) {
  return table.size("max-bytes", field, "refuse to read more than this").not_data();
}

}  // namespace attn::cli
