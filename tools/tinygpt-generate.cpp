// Lets a trained model go on from prompts, answer them, or fill in what they hide.
//
//   tinygpt-generate model.h5 --prompt "3 5" --new-tokens 8
//   tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt "3 5" --new-tokens 8 --show
//   tinygpt-generate gpl.h5 --prompt "The license" --new-tokens 200 --temperature 0.8 --seed 1
//   tinygpt-generate model.h5 --prompts prompts.txt --format json

#include <string>
#include <vector>

#include "cli/tool.h"
#include "io/output.h"
#include "io/provenance.h"
#include "ops/gemm.h"
#include "tinygpt-generate/decode.h"
#include "tinygpt-generate/logprobs.h"
#include "tinygpt-generate/maps.h"
#include "tinygpt-generate/options.h"
#include "tinygpt-generate/report.h"
#include "tinygpt-generate/score.h"

namespace {

using namespace attn;

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

int run(const Options& options, cli::Session& session) {
  for (const std::string* file :
       {&options.logprobs, &options.dump_attention, &options.dump_logits, &options.dump_hidden}) {
    if (!file->empty()) check_output(*file, {options.input});
  }
  const Hdf5Reader reader =
      Hdf5Reader::open(options.input, {options.max_bytes, !options.no_verify});
  const Checkpoint checkpoint = read_checkpoint(reader);
  const Transformer<float>& model = *checkpoint.model;
  refuse_idle_options(model.config().arch, session);
  const Language language = language_of(checkpoint, options.specials);
  if (!options.score.empty()) {
    run_score(options, model, language, session);
  } else {
    generate_all(options, model, language, read_history(reader), session);
  }
  return cli::kDone;
}

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
                    {"tinygpt-generate reverse.h5 --prompt \"2 0 1 4\"",
                     "an encoder-decoder's answer, up to its end"},
                    {"tinygpt-generate masked.h5 --prompt \"3 5 <mask> 9\"",
                     "an encoder's guess at what is hidden"},
                    {"tinygpt-generate model.h5 --prompts prompts.txt --format json",
                     "one result for each line of a file"},
                    {"tinygpt-generate gpl.h5 --score text.txt --val-fraction 0.1",
                     "loss, perplexity and bits per character of a text's last tenth"}},
       .notes = "Stdout holds what the model adds, one line for each prompt: a decoder's new\n"
                "tokens, an encoder-decoder's answer to the prompt, or for an encoder the prompt\n"
                "with a guess in place of each <mask>. What a text model adds to --prompt is\n"
                "printed as it is; for --prompts line ends, tabs and backslashes in it become\n"
                "\\n, \\t and \\\\. The token that ends a sequence is not printed.\n"
                "\n"
                "A decoder that was trained on sequences with a beginning gets it before each\n"
                "prompt, which may be empty then; else an empty prompt is refused. So is invalid\n"
                "UTF-8, and a character that the model was not trained on, unless --unknown skip\n"
                "leaves it out. A model with learned positions does not go on past its table:\n"
                "--new-tokens beyond it is refused; the others go on, with a word on stderr past\n"
                "the length they were trained on. --no-cache gives the same text by more work.\n"
                "\n"
                "The next token is chosen in this order: repetition penalty, temperature, top-k,\n"
                "top-p, min-p, and a draw from what is left, whose probabilities then sum to 1.\n"
                "The lower id goes first on equal logits, so exactly k remain. Top-p adds up the\n"
                "probabilities that top-k left, likeliest first, and keeps a token while the sum\n"
                "before it is below p: the one that crosses p stays, one stays whatever p is.\n"
                "The number drawn depends on the seed, the prompt's number and the position\n"
                "alone; --threads changes nothing.\n"
                "\n"
                "--score cuts the text into windows that do not overlap and asks for each next\n"
                "token: loss is the mean of -ln p over them (the first token of all, and what is\n"
                "left after the last whole window, are not foretold), perplexity is e^loss, and\n"
                "bits per character shares the same loss among the characters foretold.\n"
                "\n"
                "--dump-attention writes /attention (block, head, query, key) with the tokens of\n"
                "both axes; for an encoder-decoder there are /encoder/attention, its own\n"
                "/decoder/attention, and from its tokens to the source's /cross/attention.",
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare, run);
}
