#include "cli/command_line.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "core/error.h"

namespace attn::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Norm { kLayer, kRms };

// A program with an option of each kind.
struct Example {
  Index layers = 1;
  std::optional<Index> kv_heads;
  std::vector<Index> tokens = {1};
  double rate = 0.003;
  std::string prompt;
  std::string input;
  std::string output;
  std::string resume;
  std::vector<std::string> keep;
  std::optional<std::string> title;
  Norm norm = Norm::kLayer;
  std::string kind = "half_split";
  bool cache = true;
  bool show = false;
  bool quiet = false;
  Format format = Format::kText;
  Index seed = 0;
  OptionTable table;

  Example() {
    input_option(table, input);
    output_option(table, output);
    table.input("resume", resume, "checkpoint to go on from").may_be_output().not_data();
    table.count("layers", layers, "blocks").letter('l');
    table.count("kv-heads", kv_heads, "key-value heads");
    table.counts("tokens", tokens, "cached tokens");
    table.real("rate", rate, "step size").above(0);
    table.text("prompt", prompt, "first tokens");
    table.texts("keep", keep, "names to keep");
    table.text("title", title, "above the picture").may_be_empty();
    table.choice("norm-type", norm,
                 std::vector<std::pair<std::string, Norm>>{{"layer_norm", Norm::kLayer},
                                                           {"rms_norm", Norm::kRms}},
                 "which norm");
    table.choice("kind", kind, {"half_split", "interleaved"}, "which pairs");
    table.action(
        "no-cache", [this] { cache = false; }, "compute all again");
    table.flag("quiet", quiet, "say less").letter('q').not_data();
    format_options(table, format, {Format::kText, Format::kTsv, Format::kJson});
    show_options(table, show);
    seed_option(table, seed);
  }

  void parse(std::vector<std::string> words) { CommandLine(table).parse(std::move(words)); }
};

// The message and the hints of the refusal, in one text.
std::string refusal(std::vector<std::string> words) {
  Example example;
  try {
    example.parse(std::move(words));
  } catch (const UsageError& error) {
    std::string text = error.what();
    for (const std::string& hint : error.hints()) text += "\n" + hint;
    return text;
  }
  return "accepted";
}

TEST(CommandLine, SetsFieldsOfEveryKind) {
  Example e;
  e.parse({"--layers=2", "--kv-heads", "8", "--tokens", "4,8-9", "--rate", "1e-2", "--prompt",
           "3 5", "--norm-type", "rms_norm", "--no-cache", "-q", "--json", "--keep", "a", "--keep",
           "b", "in.h5"});
  EXPECT_EQ(e.layers, 2);
  EXPECT_EQ(e.kv_heads, 8);
  EXPECT_THAT(e.tokens, ElementsAre(4, 8, 9));
  EXPECT_EQ(e.rate, 0.01);
  EXPECT_EQ(e.prompt, "3 5");
  EXPECT_EQ(e.norm, Norm::kRms);
  EXPECT_FALSE(e.cache);
  EXPECT_TRUE(e.quiet);
  EXPECT_EQ(e.format, Format::kJson);
  EXPECT_THAT(e.keep, ElementsAre("a", "b"));
  EXPECT_EQ(e.input, "in.h5");
  EXPECT_TRUE(e.table.given("rate"));
  EXPECT_FALSE(e.table.given("seed"));
}

TEST(CommandLine, ShortFormsMayBeBundledAndSticky) {
  Example e;
  e.parse({"-ql5"});
  EXPECT_TRUE(e.quiet);
  EXPECT_EQ(e.layers, 5);
}

TEST(CommandLine, DashAndUnderscoreAreTheSame) {
  Example e;
  e.parse({"--norm_type", "rms-norm", "--kind", "half-split", "--kv_heads=3"});
  EXPECT_EQ(e.norm, Norm::kRms);
  EXPECT_EQ(e.kind, "half_split");
  EXPECT_EQ(e.kv_heads, 3);
}

TEST(CommandLine, OptionsMayFollowOperandsAndTwoDashesEndThem) {
  Example e;
  e.parse({"in.h5", "--layers", "3"});
  EXPECT_EQ(e.input, "in.h5");
  EXPECT_EQ(e.layers, 3);
  Example dashed;
  dashed.parse({"--", "-x.h5"});
  EXPECT_EQ(dashed.input, "-x.h5");
}

TEST(CommandLine, AcceptsNoAbbreviationAndSuggestsTheWhole) {
  EXPECT_EQ(refusal({"--lay", "32"}), "unknown option '--lay'\ndid you mean '--layers'?");
  EXPECT_EQ(refusal({"--kvheads", "8"}), "unknown option '--kvheads'\ndid you mean '--kv-heads'?");
  EXPECT_EQ(refusal({"--kvheads=8"}), "unknown option '--kvheads'\ndid you mean '--kv-heads'?");
  EXPECT_EQ(refusal({"--frobnicate"}), "unknown option '--frobnicate'");
}

TEST(CommandLine, AFileThatLooksLikeAnOptionIsExplained) {
  EXPECT_EQ(refusal({"-x.h5"}),
            "unknown option '-x.h5'\nif it is a file, write -- -x.h5 or ./-x.h5");
}

TEST(CommandLine, NegativeNumbersAreOutOfRange) {
  EXPECT_THAT(refusal({"--layers", "-1"}), HasSubstr("--layers must be 1 or more: -1"));
  EXPECT_THAT(refusal({"--layers=-1"}), HasSubstr("--layers must be 1 or more: -1"));
  EXPECT_THAT(refusal({"--rate", "-1e-3"}), HasSubstr("--rate must be more than 0: -1e-3"));
  EXPECT_THAT(refusal({"--seed", "-1"}), HasSubstr("--seed must be 0 or more: -1"));
}

TEST(CommandLine, AnEmptyValueIsOneWhereItMayBe) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-i", "a.h5", "--title", ""}, {"-i", "a.h5", "--title="}}) {
    Example example;
    CommandLine(example.table).parse(words);
    EXPECT_EQ(example.title, "");
    EXPECT_TRUE(example.table.given("title"));
    EXPECT_EQ(example.table.history_line("p"), "p --input a.h5 --title ''");
  }
  EXPECT_EQ(refusal({"--title"}), "--title wants a value");
}

TEST(CommandLine, NamesTheCulprit) {
  EXPECT_THAT(refusal({"a.h5", "extra"}), HasSubstr("unexpected operand 'extra'"));
  EXPECT_THAT(refusal({"-i", "a.h5", "extra"}), HasSubstr("unexpected operand 'extra'"));
  EXPECT_EQ(refusal({"--layers", "2", "--layers", "3"}), "--layers is given twice");
  EXPECT_EQ(refusal({"--layers", ""}), "--layers has an empty value");
  EXPECT_EQ(refusal({"--layers="}), "--layers has an empty value");
  EXPECT_EQ(refusal({"--prompt", ""}), "--prompt has an empty value");
  EXPECT_EQ(refusal({"--layers"}), "--layers wants a value");
  EXPECT_EQ(refusal({"--layers", "--seed", "1"}), "--layers wants a value");
  EXPECT_EQ(refusal({"--prompt", "-q"}), "--prompt wants a value");
  EXPECT_EQ(refusal({"--prompt=-q"}), "accepted");
  EXPECT_EQ(refusal({"--show=yes"}), "--show takes no value");
  EXPECT_THAT(refusal({"--rate", "nan"}), HasSubstr("--rate must be finite"));
  EXPECT_THAT(refusal({"--kind", "halfsplit"}), HasSubstr("did you mean 'half_split'?"));
  EXPECT_THAT(refusal({"--json", "--format", "tsv"}), HasSubstr("contradict"));
  EXPECT_EQ(refusal({"--json", "--format", "json"}), "accepted");
}

TEST(CommandLine, ShowTakesNoOperandAway) {
  Example e;
  e.parse({"--show", "in.h5"});
  EXPECT_TRUE(e.show);
  EXPECT_EQ(e.input, "in.h5");
}

// A stdin that is no terminal, wherever the test runs.
class EmptyStdin {
 public:
  EmptyStdin() : before_(dup(STDIN_FILENO)) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  EmptyStdin(const EmptyStdin&) = delete;
  EmptyStdin& operator=(const EmptyStdin&) = delete;
  ~EmptyStdin() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST(CommandLine, OneInputAtMostIsStdin) {
  const EmptyStdin none;
  EXPECT_EQ(refusal({"-i", "-"}), "accepted");
  EXPECT_THAT(refusal({"-i", "-", "--resume", "-"}), HasSubstr("--input and --resume are both -"));
}

TEST(CommandLine, TheOutputIsNeverTheInputUnderAnyName) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "command_line_test";
  fs::create_directories(folder);
  const std::string file = folder / "a.h5";
  std::ofstream(file) << "x";
  const std::string link = folder / "link.h5";
  const std::string hard = folder / "hard.h5";
  fs::remove(link);
  fs::remove(hard);
  fs::create_symlink(file, link);
  fs::create_hard_link(file, hard);
  for (const std::string& name : {file, link, hard, (folder / "." / "a.h5").string()}) {
    EXPECT_THAT(refusal({"-i", file, "-o", name}), HasSubstr("is the input file itself")) << name;
  }
  EXPECT_EQ(refusal({"--resume", file, "-o", file}), "accepted");
  EXPECT_EQ(refusal({"-i", file, "-o", folder / "new.h5"}), "accepted");
  fs::remove_all(folder);
}

TEST(CommandLine, HelpIsFoundAmongMistakesButNotInValues) {
  Example e;
  bool help = false;
  e.table.flag("help", help, "help").letter('h');
  const CommandLine line(e.table);
  EXPECT_TRUE(line.asks_for({"--bogus", "--help"}, "help"));
  EXPECT_TRUE(line.asks_for({"--layers", "-h"}, "help"));
  EXPECT_TRUE(line.asks_for({"-qh"}, "help"));
  EXPECT_FALSE(line.asks_for({"--", "--help"}, "help"));
  EXPECT_FALSE(line.asks_for({"--bogus", "--", "-h"}, "help"));
}

TEST(History, HoldsWhatCanChangeTheDataInTableOrder) {
  Example e;
  e.parse({"--seed", "4", "--prompt", "it's 3", "-q", "--show", "--no-cache", "--layers", "2", "-i",
           "/some/where/a.h5", "-o", "out.h5", "--format", "text"});
  EXPECT_EQ(e.table.history_line("tool"),
            "tool --input a.h5 --layers 2 --prompt 'it'\\''s 3' --no-cache --seed 4");
}

TEST(History, AnUndeclaredNameIsABug) {
  const Example e;
  EXPECT_THROW((void)e.table.given("frob"), ShapeError);
}

TEST(CommandLine, APresetComesFirstWhereverItStands) {
  Index layers = 1;
  OptionTable table;
  table.count("layers", layers, "blocks");
  table
      .custom(
          "preset", "NAME", [&](std::string_view) { layers = 12; }, "a shape by name")
      .before_others();
  CommandLine(table).parse({"--layers", "3", "--preset", "large"});
  EXPECT_EQ(layers, 3);
}

TEST(CommandLine, WhatWasTypedWinsOverDefaultsReadLater) {
  Index layers = 1;
  Index heads = 1;
  std::vector<std::string> keep;
  OptionTable table;
  table.count("layers", layers, "blocks");
  table.count("heads", heads, "query heads");
  table.texts("keep", keep, "names to keep");
  table
      .custom(
          "preset", "NAME", [&](std::string_view) { layers = heads = 12; }, "a shape by name")
      .before_others();
  table.check([&] {
    layers = heads = 5;  // as a file would have it
    table.set_again();
  });
  CommandLine(table).parse({"--layers", "3", "--keep", "a", "--keep", "b"});
  EXPECT_EQ(layers, 3);
  EXPECT_EQ(heads, 5);
  EXPECT_THAT(keep, ElementsAre("a", "b"));
}

TEST(CommandLine, FilesMayBeSeveralAndOneOfThemStdin) {
  std::vector<std::string> texts;
  std::string resume;
  OptionTable table;
  table.inputs("text", texts, "texts to learn");
  table.input("resume", resume, "what to go on from");
  CommandLine(table).parse({"--text", "a/b.txt", "--text", "c.txt"});
  EXPECT_THAT(texts, ElementsAre("a/b.txt", "c.txt"));
  EXPECT_EQ(table.history_line("train"), "train --text b.txt --text c.txt");
  OptionTable both;
  both.inputs("text", texts, "texts to learn");
  EXPECT_THROW(CommandLine(both).parse({"--text", "-", "--text", "-"}), UsageError);
}

// As a shell spells several files: --text *.txt
TEST(CommandLine, WordsGoToAnOptionThatTakesThem) {
  std::vector<std::string> texts;
  std::string input;
  OptionTable table;
  table.inputs("text", texts, "texts to learn").takes_operands();
  table.input("input", input, "ids to learn").operand();
  CommandLine(table).parse({"--text", "a.txt", "b.txt", "-"});
  EXPECT_THAT(texts, ElementsAre("a.txt", "b.txt", "-"));
  EXPECT_EQ(input, "");
  EXPECT_EQ(table.history_line("train"), "train --text a.txt --text b.txt --text -");

  std::vector<std::string> none;
  OptionTable other;
  other.inputs("text", none, "texts to learn").takes_operands();
  other.input("input", input, "ids to learn").operand();
  CommandLine(other).parse({"ids.h5"});
  EXPECT_THAT(none, ElementsAre());
  EXPECT_EQ(input, "ids.h5");
}

}  // namespace
}  // namespace attn::cli
