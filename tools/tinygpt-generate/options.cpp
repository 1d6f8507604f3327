#include "tinygpt-generate/options.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "core/error.h"

namespace attn {

namespace {

// What belongs to one use of the program is refused beside another.
void check_mode(const cli::OptionTable& table, const Options& options) {
  if (options.score.empty()) {
    for (const char* option : {"val-fraction", "score-window"}) {
      if (table.given(option)) {
        throw UsageError(fmt::format("--{} is for --score, which is missing", option));
      }
    }
    if (options.format == cli::Format::kTsv) {
      throw UsageError("--format tsv is for --score: text has one line for each prompt");
    }
    return;
  }
  for (const char* option :
       {"prompt", "prompts", "new-tokens", "repetition-penalty", "repeat-last-n", "temperature",
        "top-k", "top-p", "min-p", "seed", "ignore-eos", "bos", "eos", "mask", "no-cache", "echo",
        "dump-attention", "show"}) {
    if (table.given(option)) {
      throw UsageError(
          fmt::format("--{} is for what a model says: --score only reads a text", option));
    }
  }
}

}  // namespace

void declare(cli::OptionTable& table, Options& options) {
  table.group("Prompt");
  cli::input_option(table, options.input, "checkpoint to read, - for stdin").required();
  table
      .text("prompt", options.prompt,
            "what to go on from, answer or fill in: text, or token ids (3 5) where the model has "
            "no tokenizer")
      .may_be_empty();
  table.input("prompts", options.prompts, "do so with each line of this file, - for stdin");
  table.choice("unknown", options.skip_unknown,
               std::vector<std::pair<std::string, bool>>{{"error", false}, {"skip", true}},
               "refuse characters that the model was not trained on, or leave them out");

  table.group("Decoding");
  table.count("new-tokens", options.new_tokens, "most tokens to add to each prompt")
      .at_least(0)
      .default_is(fmt::format("{}, or what a learned table has room for", kNewTokens));
  table
      .real("repetition-penalty", options.sampling.repetition_penalty,
            "divide the positive logits of tokens that occur already by X, multiply the negative "
            "ones; 1 is none")
      .above(0);
  table
      .count("repeat-last-n", options.sampling.repeat_last,
             "only of those that occur among the last N tokens")
      .at_least(0)
      .default_is("all, the prompt's too");
  table
      .real("temperature", options.sampling.temperature,
            "draw from softmax(logits / X); 0 takes the largest logit")
      .at_least(0);
  table
      .count("top-k", options.sampling.top_k,
             "draw from the N likeliest only; 0 or more than the vocabulary: from all")
      .at_least(0);
  table
      .real("top-p", options.sampling.top_p,
            "of those keep a token while the probability of the likelier ones is below X, so the "
            "one that reaches X stays; 1: all")
      .above(0)
      .at_most(1);
  table
      .real("min-p", options.sampling.min_p,
            "of those keep what has at least X times the probability of the likeliest; 0: all")
      .at_least(0)
      .at_most(1);
  cli::seed_option(table, options.seed);
  table.flag("ignore-eos", options.ignore_eos, "go on after the token that ends a sequence");
  table.count("bos", options.specials.bos, "id of the token that begins a sequence")
      .at_least(0)
      .default_is("the tokenizer's");
  table.count("eos", options.specials.eos, "id of the token that ends it")
      .at_least(0)
      .default_is("the tokenizer's");
  table.count("mask", options.specials.mask, "id of the token that hides one from an encoder")
      .at_least(0)
      .default_is("the tokenizer's");
  table.flag("no-cache", options.no_cache, "compute the whole prefix anew for each token")
      .not_data();

  table.group("Score");
  table.input("score", options.score,
              "say how well the model foretells this text, - for stdin; nothing is added to it");
  table
      .real("val-fraction", options.val_fraction,
            "score this share of the text's tokens alone, its end, which training held out")
      .above(0)
      .at_most(1)
      .default_is("all of it");
  table
      .count("score-window", options.score_window,
             "tokens that the model reads at a time; windows do not overlap")
      .default_is("what it was trained on, or its positions, or 512");

  table.group("Output");
  table.flag("echo", options.echo, "print the prompt before what the model adds").not_data();
  table.output("dump-attention", options.dump_attention,
               "HDF5 file for the attention maps of a single prompt and its continuation");
  cli::show_options(table, options.show, "draw those maps in the terminal");
  cli::format_options(table, options.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kJson});

  table.group("Run");
  table.flag("no-verify", options.no_verify, "read a checkpoint whose digest does not match");
  cli::threads_option(table, options.threads);
  cli::max_bytes_option(table, options.max_bytes);

  table.check([&options, &table] {
    check_mode(table, options);
    const bool file = table.given("prompts");
    if (file && options.prompt) {
      throw UsageError("--prompt and --prompts cannot both say what to continue");
    }
    if (!file && !options.prompt && options.score.empty()) {
      throw UsageError("nothing to continue: --prompt or --prompts is missing");
    }
    if (options.ignore_eos && options.specials.eos) {
      throw UsageError("--ignore-eos and --eos contradict each other");
    }
    if (options.dump_attention == "-") {
      throw UsageError("--dump-attention - would mix with the tokens on stdout", {"give a file"});
    }
    if (file && (options.show || !options.dump_attention.empty())) {
      throw UsageError("attention maps are of one sequence: give --prompt, not --prompts");
    }
  });
}

void refuse_idle_options(Arch arch, const cli::Session& session) {
  const auto refuse = [&](const char* option, const char* wanted) {
    if (!session.given(option)) return;
    throw UsageError(
        fmt::format("--{} is for {}: this model's arch is '{}'", option, wanted, enum_name(arch)));
  };
  if (arch == Arch::kEncoder) {
    for (const char* option : {"new-tokens", "ignore-eos", "bos", "eos", "no-cache",
                               "repetition-penalty", "repeat-last-n"}) {
      refuse(option, "models that say one token after another");
    }
  } else {
    refuse("mask", "encoders");
  }
}

}  // namespace attn
