#include "tinygpt-generate/options.h"

#include <fmt/core.h>

#include <utility>

namespace attn {
namespace {

void declare_prompt(cli::OptionTable& table, Options& options) {
  table.group("Prompt");
  cli::input_option(table, options.input, "checkpoint to read, - for stdin");
  table
      .text("prompt", options.prompt,
            "what to go on from, answer or fill in: text, or token ids (3 5) where the model has "
            "no tokenizer")
      .may_be_empty();
  table.input("prompts", options.prompts, "do so with each line of this file, - for stdin");
  table.choice("unknown", options.skip_unknown,
               std::vector<std::pair<std::string, bool>>{{"error", false}, {"skip", true}},
               "refuse characters that the model was not trained on, or leave them out");
}

// In the order in which they act.
void declare_sampling(cli::OptionTable& table, Options& options) {
  table.group("The next token, in this order");
  SamplingSettings& sampling = options.sampling;
  table
      .real("repetition-penalty", sampling.repetition_penalty,
            "divide the positive logits of tokens that occur already by X, multiply the negative "
            "ones; 1 is none")
      .above(0);
  table
      .count("repeat-last-n", sampling.repeat_last,
             "only of those that occur among the last N tokens")
      .at_least(0)
      .default_is("all, the prompt's too");
  table
      .real("temperature", sampling.temperature,
            "draw from softmax(logits / X); 0 takes the largest logit")
      .at_least(0);
  table
      .count("top-k", sampling.top_k,
             "draw from the N likeliest only; 0 or more than the vocabulary: from all")
      .at_least(0);
  table
      .real("top-p", sampling.top_p,
            "of those keep a token while the probability of the likelier ones is below X, so the "
            "one that reaches X stays; 1: all")
      .above(0)
      .at_most(1);
  table
      .real("min-p", sampling.min_p,
            "of those keep what has at least X times the probability of the likeliest; 0: all")
      .at_least(0)
      .at_most(1);
  cli::seed_option(table, options.seed);
}

void declare_decoding(cli::OptionTable& table, Options& options) {
  table.group("Decoding");
  table.count("new-tokens", options.new_tokens, "most tokens to add to each prompt")
      .at_least(0)
      .default_is(fmt::format("{}, or what a learned table has room for", kNewTokens));
  table.count("samples", options.samples, "draw so many continuations of each prompt")
      .at_most(Index{1} << 32);
  table.count("beams", options.beams, "search the N likeliest continuations instead of drawing")
      .default_is("none are searched");
  table.real("length-penalty", options.length_penalty,
             "rank them by log-probability / length^X, the end counted");
  table.texts("stop", options.stop,
              "end where this text begins, which is not printed; may be given several times");
  table.counts("stop-ids", options.stop_ids, "tokens that end a sequence, beside the usual end")
      .at_least(0)
      .default_is("none");
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
  table
      .count("window", options.window,
             "let the model see the last N tokens only, as if nothing had been before them: each "
             "further token costs N rows")
      .default_is("all that there are");
  table
      .choice("cache", options.cache,
              std::vector<std::pair<std::string, Options::Cache>>{
                  {"contiguous", Options::Cache::kContiguous},
                  {"paged", Options::Cache::kPaged},
                  {"none", Options::Cache::kNone}},
              "keys and values of earlier tokens: one run of rows, pages that samples and beams "
              "share, or computed anew for each token")
      .not_data();
  table.count("page-size", options.page_size, "tokens of a page").not_data();
  table
      .action(
          "no-cache", [&options] { options.cache = Options::Cache::kNone; }, "--cache none")
      .not_data();
  table.count("prefill-chunk", options.prefill_chunk, "read the prompt N tokens at a time")
      .default_is("all at once")
      .not_data();
}

void declare_explaining(cli::OptionTable& table, Options& options) {
  table.group("Explain");
  table
      .count("explain-next", options.explain_next,
             "add nothing, but show the N first candidates for the next token: logit, after "
             "penalty and temperature, which filter keeps it, probability")
      .default_is("not explained");
  table.text("logits", options.logits,
             "explain these instead of a model's: FILE[:/dataset] of HDF5, .npy or text, or "
             "numbers ('1 0.5 2'); the last axis is the vocabulary");
  table.counts("rows", options.rows, "which rows of --logits, from 0")
      .at_least(0)
      .default_is("all");
}

void declare_scoring(cli::OptionTable& table, Options& options) {
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
}

void declare_output(cli::OptionTable& table, Options& options) {
  table.group("Output");
  table.flag("echo", options.echo, "print the prompt before what the model adds").not_data();
  table.output("logprobs", options.logprobs,
               "HDF5 file for the new tokens and their log-probabilities");
  table
      .count("alternatives", options.alternatives,
             "with each log-probability, in that file and in json, those of the N likeliest tokens")
      .at_least(0)
      .default_is(fmt::format("{} with --logprobs, else none", kAlternatives));
  table
      .flag("pools", options.pools,
            "tell the pool of --beams after each round, in that file and in json")
      .not_data();
  table.output("dump-attention", options.dump_attention,
               "HDF5 file for the attention maps of a single prompt and its continuation");
  table.output("dump-logits", options.dump_logits, "the same for the logits after each token");
  table.output("dump-hidden", options.dump_hidden,
               "the same for the rows between the blocks, and before and after them");
  cli::show_options(table, options.show, "draw those maps in the terminal");
  cli::format_options(table, options.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kJson});

  table.group("Run");
  table.flag("no-verify", options.no_verify, "read a checkpoint whose digest does not match");
  cli::threads_option(table, options.threads);
  cli::max_bytes_option(table, options.max_bytes);
}

}  // namespace

void declare(cli::OptionTable& table, Options& options) {
  declare_prompt(table, options);
  declare_sampling(table, options);
  declare_decoding(table, options);
  declare_explaining(table, options);
  declare_scoring(table, options);
  declare_output(table, options);
  table.check([&table, &options] { check_options(table, options); });
}

void refuse_idle_options(Arch arch, const cli::Session& session) {
  const auto refuse = [&](const char* option, const char* wanted) {
    if (!session.given(option)) return;
    throw UsageError(
        fmt::format("--{} is for {}: this model's arch is '{}'", option, wanted, enum_name(arch)));
  };
  if (arch == Arch::kEncoder) {
    for (const char* option :
         {"new-tokens", "ignore-eos", "bos", "eos", "no-cache", "cache", "page-size",
          "repetition-penalty", "repeat-last-n", "samples", "beams", "stop", "stop-ids", "window",
          "prefill-chunk", "explain-next"}) {
      refuse(option, "models that say one token after another");
    }
  } else {
    refuse("mask", "encoders");
  }
}

}  // namespace attn
