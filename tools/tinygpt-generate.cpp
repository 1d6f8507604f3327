// Lets a trained model go on from prompts, answer them, or fill in what they hide.
//
//   tinygpt-generate model.h5 --prompt "3 5" --new-tokens 8
//   tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt "3 5" --new-tokens 8 --show
//   tinygpt-generate gpl.h5 --prompt "The license" --new-tokens 200 --temperature 0.8 --seed 1
//   tinygpt-generate model.h5 --prompts prompts.txt --format json

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/tool.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/output.h"
#include "io/provenance.h"
#include "ops/gemm.h"
#include "tinygpt-generate/decode.h"
#include "tinygpt-generate/explain.h"
#include "tinygpt-generate/logprobs.h"
#include "tinygpt-generate/maps.h"
#include "tinygpt-generate/options.h"
#include "tinygpt-generate/report.h"
#include "tinygpt-generate/score.h"

namespace {

using namespace attn;

// "generated 8 tokens after 1 prompt with model.h5".
std::string done_words(const std::vector<Sequence>& sequences, bool encoder,
                       const std::string& model) {
  Index tokens = 0;
  for (const Sequence& sequence : sequences) {
    tokens += std::ssize(sequence.filled.places);
    for (const Generation& one : sequence.samples) tokens += std::ssize(one.tokens);
    for (const Hypothesis& one : sequence.beams.hypotheses) tokens += std::ssize(one.tokens);
  }
  const std::string prompts = counted(std::ssize(sequences), "prompt");
  return encoder
             ? fmt::format("filled {} in {} with {}", counted(tokens, "mask"), prompts, model)
             : fmt::format("generated {} for {} with {}", counted(tokens, "token"), prompts, model);
}

// What the model says to its prompts, and what is told of it.
void generate_all(const Options& options, const Transformer<float>& model, const Language& language,
                  const std::string& history, cli::Session& session) {
  std::vector<Sequence> sequences =
      read_prompts({options.prompt, options.prompts, options.max_bytes, options.skip_unknown},
                   language, session);
  const bool encoder = language.arch == Arch::kEncoder;
  if (encoder) {
    fill(options, model, language, sequences, session);
  } else {
    decode(options, model, language, sequences, session);
  }
  session.did(done_words(sequences, encoder, input_name(options.input)));

  std::vector<AttentionMaps> maps;
  if (options.show || !options.dump_attention.empty()) {
    maps = maps_of(sequences.front(), model, language, options);
  }
  if (options.format == cli::Format::kJson) {
    session.report().write(answers_json(sequences, language, options, maps));
  } else if (options.format == cli::Format::kTsv) {
    session.report().write(answers_tsv(sequences, options));
  } else if (encoder) {
    session.report().write(fillings_text(sequences, options.prompt.has_value()));
  } else if (options.beams > 0) {
    session.report().write(beams_text(sequences));
  }
  if (options.show) session.report().write(maps_text(maps, session.terminal()));
  if (!options.logprobs.empty()) save_logprobs(options, sequences, history, session);
  if (!options.dump_attention.empty()) save_maps(options, maps, history, session);
  save_states(sequences.front(), model, language, options, history, session);
}

// Files that can be written, none of them the model or another's.
void check_outputs(const Options& options) {
  std::vector<std::pair<std::filesystem::path, const char*>> taken;
  for (const auto& [option, file] : {std::pair{"logprobs", &options.logprobs},
                                     std::pair{"dump-attention", &options.dump_attention},
                                     std::pair{"dump-logits", &options.dump_logits},
                                     std::pair{"dump-hidden", &options.dump_hidden}}) {
    if (file->empty()) continue;
    check_output(*file, {options.input});
    std::error_code ignored;
    // Absolute first: of a relative path that is not there nothing is made canonical.
    const std::filesystem::path place =
        std::filesystem::weakly_canonical(std::filesystem::absolute(*file, ignored), ignored);
    for (const auto& [other, before] : taken) {
      if (other != place || std::filesystem::is_character_file(place, ignored)) continue;
      throw UsageError(
          fmt::format("--{} and --{} would both write {}", before, option, output_name(*file)));
    }
    taken.emplace_back(place, option);
  }
}

int run(const Options& options, cli::Session& session) {
  if (!options.logits.empty()) {
    explain_logits(options, session);
    return cli::kDone;
  }
  check_outputs(options);
  const Hdf5Reader reader =
      Hdf5Reader::open(options.input, {options.max_bytes, !options.no_verify});
  const Checkpoint checkpoint = read_checkpoint(reader);
  const Transformer<float>& model = *checkpoint.model;
  refuse_idle_options(model.config().arch, session);
  if (!options.score.empty()) check_scored(model.config().arch);
  const Language language = language_of(checkpoint, options.specials);
  if (!options.score.empty()) {
    run_score(options, model, language, session);
  } else if (options.explain_next > 0) {
    explain_next(options, model, language, session);
  } else {
    generate_all(options, model, language, read_history(reader), session);
  }
  return cli::kDone;
}

constexpr const char* kNotes =
    "Stdout holds what the model adds, one line for each prompt: a decoder's new\n"
    "tokens, an encoder-decoder's answer to the prompt, or for an encoder the prompt\n"
    "with a guess in place of each <mask>. Text is printed as it is made, in whole\n"
    "UTF-8 characters; bytes that make none become U+FFFD. The token that ends a\n"
    "sequence is not printed, nor is a --stop or what follows it. Where there are\n"
    "several lines (--prompts, --samples, --beams), line ends, tabs and backslashes\n"
    "in a text become \\n, \\t and \\\\.\n"
    "\n"
    "A decoder that was trained on sequences with a beginning gets it before each\n"
    "prompt, which may be empty then; else an empty prompt is refused. So is invalid\n"
    "UTF-8, and a character that the model was not trained on, unless --unknown skip\n"
    "leaves it out. A model with learned positions does not go on past its table:\n"
    "--new-tokens beyond it is refused; the others go on, with a word on stderr past\n"
    "the length they were trained on. With --window N any model goes on: each token\n"
    "is then what follows the last N tokens fed anew, at the positions from 0 on.\n"
    "--cache and --prefill-chunk give the same text by other work: the logits\n"
    "differ by rounding, at most 1e-5 of the largest, and --verbose prints the\n"
    "smallest lead of any choice, above which that cannot matter.\n"
    "\n"
    "The next token is chosen in this order: repetition penalty, temperature, top-k,\n"
    "top-p, min-p, and a draw from what is left, whose probabilities then sum to 1.\n"
    "The lower id goes first on equal logits, so exactly k remain. Top-p adds up the\n"
    "probabilities that top-k left, likeliest first, and keeps a token while the sum\n"
    "before it is below p: the one that crosses p stays, one stays whatever p is.\n"
    "What is drawn depends on the seed, the numbers of prompt and sample and the\n"
    "position alone: --threads changes nothing, and the first of --samples 8 is that\n"
    "of --samples 1, but for rounding. --explain-next shows all of this for one token.\n"
    "\n"
    "--beams keeps the best N after each round: finished hypotheses as they are, all\n"
    "others with every token; it ends when all are finished or after --new-tokens.\n"
    "The score is the summed log-probability over length^--length-penalty. Samples\n"
    "and beams read the prompt once and then go through the model together.\n"
    "\n"
    "--score cuts the text into windows that do not overlap and asks for each next\n"
    "token: loss is the mean of -ln p over them (the first token of all, and what is\n"
    "left after the last whole window, are not foretold), perplexity is e^loss, and\n"
    "bits per character shares the same loss among the characters foretold.\n"
    "\n"
    "--logprobs writes /tokens and /log_probs (a row for each prompt and sample, -1\n"
    "after the end) and /alternatives; --dump-attention writes /attention (block,\n"
    "head, query, key) with the tokens of both axes, for an encoder-decoder\n"
    "/encoder/attention, its own /decoder/attention, and from its tokens to the\n"
    "source's /cross/attention; --dump-logits /logits (token, vocabulary), and\n"
    "--dump-hidden /hidden/embedding, /hidden/blocks.0 ... /hidden/norm (token, dim).";

}  // namespace

int main(int argc, char** argv) {
  return attn::cli::tool_main<Options>(
      {.name = "tinygpt-generate",
       .summary = "goes on from prompts, answers or fills them in, with a trained model",
       .usage = "MODEL --prompt TEXT [OPTIONS]",
       .examples = {{"tinygpt-generate model.h5 --prompt \"3 5\" --new-tokens 8",
                     "the tokens that follow, the largest logit each time"},
                    {"tinygpt-generate model.h5 --prompt \"3 5\" --new-tokens 10 --show",
                     "who looked at whom, each block and head"},
                    {"tinygpt-generate gpl.h5 --prompt \"You may\" --temperature 0.8 --seed 1",
                     "text drawn at random, the same for the same seed"},
                    {"tinygpt-generate gpl.h5 --prompt \"You may\" --beams 4 --new-tokens 12",
                     "the four likeliest continuations, with their log-probabilities"},
                    {"tinygpt-generate gpl.h5 --prompt You --temperature 1 --explain-next 10",
                     "why the next token is what it is"},
                    {"tinygpt-generate --logits logits.npy --temperature 0.7 --top-k 40",
                     "what another program's sampler should do with its logits"},
                    {"tinygpt-generate reverse.h5 --prompt \"2 0 1 4\"",
                     "an encoder-decoder's answer, up to its end"},
                    {"tinygpt-generate masked.h5 --prompt \"3 5 <mask> 9\"",
                     "an encoder's guess at what is hidden"},
                    {"tinygpt-generate model.h5 --prompts prompts.txt --format json",
                     "one result for each line of a file"},
                    {"tinygpt-generate gpl.h5 --score text.txt --val-fraction 0.1",
                     "loss, perplexity and bits per character of a text's last tenth"}},
       .notes = kNotes,
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare, run);
}
