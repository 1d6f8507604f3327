#include "tinygpt-train/rules.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using Names = std::vector<std::string>;

void refuse(const cli::OptionTable& table, const Names& options, const std::string& wanted) {
  for (const std::string& option : options) {
    if (table.given(option)) throw UsageError(fmt::format("--{} is only for {}", option, wanted));
  }
}

void one_of(const cli::OptionTable& table, const Names& options) {
  const std::string* first = nullptr;
  for (const std::string& option : options) {
    if (!table.given(option)) continue;
    if (first != nullptr) {
      throw UsageError(fmt::format("--{} and --{} contradict each other", *first, option));
    }
    first = &option;
  }
}

void check_data(const cli::OptionTable& table, const TrainOptions& options) {
  one_of(table, {"task", "text", "pairs", "input"});
  const bool text = table.given("text");
  const bool resumed = table.given("resume");  // then the file says what the data are
  if (!text && !resumed) refuse(table, {"lines"}, "--text");
  if (!text && !table.given("pairs") && !table.given("preset") && !resumed) {
    refuse(table, {"tokenizer"}, "--text and --pairs");
  }
  if (!text && !table.given("pairs") && !table.given("input") && !resumed) {
    refuse(table, {"val-fraction", "eval-windows"},
           "--text, --pairs and -i: of a task by name nothing is held out");
  }
  if (table.given("vocab") && options.task.tokenizer != "gpt2") {
    throw UsageError("--vocab is only for --tokenizer gpt2");
  }
  if (!table.given("input") && !options.dry_run) {
    refuse(table, {"vocab-size", "source-vocab-size"},
           "-i and --dry-run: other data have a vocabulary of their own");
  }
}

// What says something of ids; all else is about training.
void check_tokenize(const cli::OptionTable& table) {
  static const Names kAllowed = {"tokenize",  "text",   "lines",     "tokenizer",  "vocab",
                                 "init-from", "output", "max-bytes", "threads",    "quiet",
                                 "verbose",   "color",  "no-color",  "no-progress"};
  if (!table.given("text")) throw UsageError("--tokenize needs --text");
  one_of(table, {"init-from", "tokenizer"});
  for (const cli::Option& option : table.options()) {
    if (option.given().empty()) continue;
    if (std::find(kAllowed.begin(), kAllowed.end(), option.name()) == kAllowed.end()) {
      throw UsageError(fmt::format("{} is only for training, not --tokenize", option.dashed()));
    }
  }
}

void check_recipe(const cli::OptionTable& table, const TrainOptions& options) {
  if (options.betas.size() != 2) {
    throw UsageError(
        fmt::format("--betas wants two numbers, such as 0.9,0.999: {} came", options.betas.size()));
  }
  if (table.given("resume")) return;  // the file has the other half of a contradiction
  if (options.training.trainer.adamw.weight_decay == 0) {
    refuse(table, {"decay"}, "a --weight-decay above 0");
  }
}

void check_start(const cli::OptionTable& table) {
  one_of(table, {"resume", "init-from"});
  if (table.given("init-from")) {
    refuse(table, {"preset", "init"}, "parameters that begin anew: --init-from has some");
  }
}

// One spelling for one place: "./a.h5" is "a.h5".
std::filesystem::path absolute_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path found =
      std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  return error ? std::filesystem::path(file) : found;
}

void check_run(const cli::OptionTable& table, const TrainOptions& options) {
  if (options.dry_run) {
    if (options.show) throw UsageError("--dry-run has no loss to --show");
    refuse(table, {"best", "checkpoint", "save-every", "stop-after"}, "training, not --dry-run");
    return;
  }
  if (options.output.empty()) {
    throw UsageError("nowhere to write the model: --output is missing",
                     {"-o model.h5, or -o - for a pipe; --dry-run only counts"});
  }
  if (options.output == "-" && table.given("save-every") && options.checkpoint.empty()) {
    throw UsageError("--save-every has nowhere to save: stdout cannot be replaced",
                     {"give it --checkpoint FILE"});
  }
  for (const std::string* file : {&options.best, &options.checkpoint}) {
    if (*file == "-") {
      throw UsageError(fmt::format("--{} is replaced again and again, so it cannot be stdout",
                                   file == &options.best ? "best" : "checkpoint"));
    }
  }
  const auto differ = [](const char* one, const std::string& a, const char* other,
                         const std::string& b) {
    if (!a.empty() && !b.empty() && a != "-" && absolute_path(a) == absolute_path(b)) {
      throw UsageError(fmt::format("--{} and --{} are the same file: {}", one, other, escaped(a)));
    }
  };
  differ("output", options.output, "best", options.best);
  differ("output", options.output, "checkpoint", options.checkpoint);
  differ("best", options.best, "checkpoint", options.checkpoint);
}

}  // namespace

void check_training_options(const cli::OptionTable& table, const TrainOptions& options) {
  if (options.tokenize) check_tokenize(table);
  check_run(table, options);
  check_start(table);
  check_data(table, options);
  check_recipe(table, options);
}

}  // namespace attn
