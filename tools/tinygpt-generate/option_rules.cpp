#include <fmt/core.h>

#include "core/error.h"
#include "tinygpt-generate/options.h"

// Which options go together: the program has four uses, and each has some of its own.

namespace attn {
namespace {

void refuse(const cli::OptionTable& table, std::initializer_list<const char*> options,
            const char* why) {
  for (const char* option : options) {
    if (table.given(option)) throw UsageError(fmt::format("--{} {}", option, why));
  }
}

void check_score(const cli::OptionTable& table) {
  refuse(table,
         {"prompt",
          "prompts",
          "repetition-penalty",
          "repeat-last-n",
          "temperature",
          "top-k",
          "top-p",
          "min-p",
          "seed",
          "new-tokens",
          "samples",
          "beams",
          "length-penalty",
          "stop",
          "stop-ids",
          "ignore-eos",
          "bos",
          "eos",
          "mask",
          "window",
          "no-cache",
          "cache",
          "page-size",
          "prefill-chunk",
          "explain-next",
          "logits",
          "rows",
          "echo",
          "logprobs",
          "alternatives",
          "pools",
          "dump-attention",
          "dump-logits",
          "dump-hidden",
          "show"},
         "is for what a model says: --score only reads a text");
}

void check_explain(const cli::OptionTable& table, const Options& options) {
  refuse(table,
         {"prompts", "new-tokens", "samples", "beams", "length-penalty", "stop", "stop-ids",
          "ignore-eos", "echo", "logprobs", "alternatives", "pools", "dump-attention",
          "dump-logits", "dump-hidden", "show"},
         "is for what a model says: an explanation is of the one next token");
  if (options.logits.empty()) {
    refuse(table, {"rows"}, "is for --logits, which is missing");
  } else {
    refuse(table,
           {"input", "unknown", "bos", "eos", "mask", "window", "no-cache", "cache", "page-size",
            "prefill-chunk", "no-verify"},
           "is for a model: --logits needs none");
  }
}

void check_generate(const cli::OptionTable& table, const Options& options) {
  refuse(table, {"val-fraction", "score-window"}, "is for --score, which is missing");
  refuse(table, {"rows"}, "is for --logits, which is missing");
  if (options.beams > 0) {
    const char* why = "does not go with --beams, which draws nothing: it ranks all continuations";
    refuse(
        table,
        {"repetition-penalty", "repeat-last-n", "top-k", "top-p", "min-p", "stop", "alternatives"},
        why);
    if (!options.sampling.greedy()) refuse(table, {"temperature"}, why);
    if (options.samples > 1) refuse(table, {"samples"}, why);
  } else {
    refuse(table, {"length-penalty", "pools"}, "is for --beams, which is missing");
  }
  if (options.ignore_eos && options.specials.eos) {
    throw UsageError("--ignore-eos and --eos contradict each other");
  }
  for (const auto& [option, file] :
       {std::pair{"dump-attention", &options.dump_attention},
        std::pair{"dump-logits", &options.dump_logits},
        std::pair{"dump-hidden", &options.dump_hidden}, std::pair{"logprobs", &options.logprobs}}) {
    if (*file == "-") {
      throw UsageError(fmt::format("--{} - would mix with the tokens on stdout", option),
                       {"give a file"});
    }
  }
  if (!options.dumps() && !options.show) return;
  if (table.given("prompts")) {
    throw UsageError("attention maps are of one sequence: give --prompt, not --prompts");
  }
  if (options.samples > 1 || options.beams > 0) {
    throw UsageError("maps and dumps are of one sequence: not with --samples or --beams");
  }
}

}  // namespace

void check_options(const cli::OptionTable& table, const Options& options) {
  const bool score = !options.score.empty();
  const bool logits = !options.logits.empty();
  if (options.input.empty() && !logits) throw UsageError("--input is missing: checkpoint to read");
  if (score) return check_score(table);
  const bool file = table.given("prompts");
  if (file && options.prompt) {
    throw UsageError("--prompt and --prompts cannot both say what to continue");
  }
  if (!file && !options.prompt && !logits) {
    throw UsageError("nothing to continue: --prompt or --prompts is missing");
  }
  if (table.given("no-cache") && table.given("cache")) {
    throw UsageError("--no-cache is --cache none: give one");
  }
  if (options.cache == Options::Cache::kNone && options.prefill_chunk > 0) {
    throw UsageError("--prefill-chunk is for a cache, and there is none");
  }
  if (options.cache != Options::Cache::kPaged) {
    refuse(table, {"page-size"}, "is for --cache paged");
  }
  if (logits || options.explain_next > 0) {
    check_explain(table, options);
  } else {
    check_generate(table, options);
  }
}

}  // namespace attn
