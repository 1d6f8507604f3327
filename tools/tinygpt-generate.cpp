// Lets a trained model go on from prompts, answer them, or fill in what they hide.
//
//   tinygpt-generate model.h5 --prompt "3 5" --new-tokens 8
//   tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt "3 5" --new-tokens 8 --show
//   tinygpt-generate gpl.h5 --prompt "The license" --new-tokens 200 --temperature 0.8 --seed 1
//   tinygpt-generate model.h5 --prompts prompts.txt --format json

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "io/output.h"
#include "io/provenance.h"
#include "model/attention_maps.h"
#include "ops/gemm.h"
#include "tinygpt-generate/prompts.h"
#include "tinygpt-generate/report.h"

namespace {

using namespace attn;

constexpr Index kNewTokens = 32;  // where nobody says how many

struct Options {
  std::string input;
  std::optional<std::string> prompt;
  std::string prompts;
  bool skip_unknown = false;
  std::optional<Index> new_tokens;
  double temperature = 0;
  Index seed = 0;
  bool ignore_eos = false;
  SpecialTokens specials;
  bool no_cache = false;
  bool echo = false;
  std::string dump_attention;
  bool show = false;
  bool no_verify = false;
  cli::Format format = cli::Format::kText;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
};

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
      .real("temperature", options.temperature,
            "draw from softmax(logits / X); 0 takes the largest logit")
      .at_least(0);
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

  table.group("Output");
  table.flag("echo", options.echo, "print the prompt before what the model adds").not_data();
  table.output("dump-attention", options.dump_attention,
               "HDF5 file for the attention maps of a single prompt and its continuation");
  cli::show_options(table, options.show, "draw those maps in the terminal");
  cli::format_options(table, options.format, {cli::Format::kText, cli::Format::kJson});

  table.group("Run");
  table.flag("no-verify", options.no_verify, "read a checkpoint whose digest does not match");
  cli::threads_option(table, options.threads);
  cli::max_bytes_option(table, options.max_bytes);

  table.check([&options, &table] {
    const bool file = table.given("prompts");
    if (file && options.prompt) {
      throw UsageError("--prompt and --prompts cannot both say what to continue");
    }
    if (!file && !options.prompt) {
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

// Options that the model's arrangement has no use for.
void refuse_idle_options(Arch arch, const cli::Session& session) {
  const auto refuse = [&](const char* option, const char* wanted) {
    if (!session.given(option)) return;
    throw UsageError(
        fmt::format("--{} is for {}: this model's arch is '{}'", option, wanted, enum_name(arch)));
  };
  if (arch == Arch::kEncoder) {
    for (const char* option : {"new-tokens", "ignore-eos", "bos", "eos", "no-cache"}) {
      refuse(option, "models that say one token after another");
    }
  } else {
    refuse("mask", "encoders");
  }
}

// How many tokens a prompt may get, where nobody said: as many as there is room for.
Index new_tokens(const Options& options, const ModelConfig& config, Index prompt_length) {
  if (options.new_tokens) return *options.new_tokens;
  const Index room = longest_continuation(config, prompt_length).value_or(kNewTokens);
  return room >= 1 ? std::min(room, kNewTokens) : kNewTokens;  // without room it is refused
}

// Bytes of the cached keys and values of the longest sequence, or of a row of ids; the passes take
// less.
double bytes_of_decoding(const ModelConfig& config, const std::vector<Sequence>& sequences,
                         const Options& options) {
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.ids.size());
  const double tokens =
      static_cast<double>(longest) + static_cast<double>(options.new_tokens.value_or(kNewTokens));
  const Index key_width = config.depth * config.kv_heads * config.head_dim;
  const double cached = options.no_cache ? 0 : 2.0 * sizeof(float) * static_cast<double>(key_width);
  return tokens * (cached + 2.0 * sizeof(Index));
}

// Positions never trained on are allowed, but the text suffers: the user should not look for a bug.
void note_length(const ModelConfig& config, Index read, Index length, const cli::Session& session) {
  if (config.seq_len == 0 || read <= config.seq_len || config.longest_sequence()) return;
  session.note(fmt::format("goes on to {} tokens, though the model was trained on {} at a time",
                           length, config.seq_len));
}

// Calls work(sequence) and says whose a refusal is.
template <class Work>
void with_prompt_named(const Options& options, Sequence& sequence, const Work& work) {
  try {
    work(sequence);
  } catch (const UsageError& error) {
    if (options.prompt) throw;
    throw UsageError(fmt::format("{}: {}", sequence.where, error.what()), error.hints());
  }
}

void decode(const Options& options, const Transformer<float>& model, const Language& language,
            std::vector<Sequence>& sequences, const cli::Session& session) {
  const ModelConfig& config = model.config();
  if (!config.longest_sequence()) {
    require_memory("decoding", bytes_of_decoding(config, sequences, options));
  }
  GenerationSettings settings;
  if (!options.ignore_eos) settings.eos = language.specials.eos;
  settings.use_cache = !options.no_cache;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling.temperature = options.temperature;
  settings.sampling.seed = static_cast<std::uint64_t>(options.seed);
  Index longest = 0;
  bool stopped_short = false;
  for (Sequence& sequence : sequences) {
    std::vector<Index> begin = sequence.ids;
    if (language.arch == Arch::kEncoderDecoder) begin = {*language.specials.bos};
    const auto prompt_length = static_cast<Index>(begin.size());
    settings.new_tokens = new_tokens(options, config, prompt_length);
    with_prompt_named(options, sequence, [&](Sequence& one) {
      one.added = language.arch == Arch::kEncoderDecoder
                      ? generate<float>(model, SourceTokens{one.ids}, begin, settings)
                      : generate<float>(model, begin, settings);
    });
    ++settings.sampling.sample;
    longest = std::max(longest, prompt_length + static_cast<Index>(sequence.added.tokens.size()));
    stopped_short = stopped_short || (!options.new_tokens && settings.new_tokens < kNewTokens &&
                                      sequence.added.finish == Finish::kLength);
  }
  if (stopped_short) {
    session.note(
        fmt::format("stops at the end of the model's table of {} positions", config.max_positions));
  }
  note_length(config, longest - 1, longest, session);
}

void fill(const Options& options, const Transformer<float>& model, const Language& language,
          std::vector<Sequence>& sequences, const cli::Session& session) {
  FillSettings settings;
  settings.mask = *language.specials.mask;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling.temperature = options.temperature;
  settings.sampling.seed = static_cast<std::uint64_t>(options.seed);
  Index longest = 0;
  for (Sequence& sequence : sequences) {
    with_prompt_named(options, sequence, [&](Sequence& one) {
      one.filled = fill_masks<float>(model, one.ids, settings);
    });
    ++settings.sampling.sample;
    longest = std::max(longest, static_cast<Index>(sequence.ids.size()));
  }
  note_length(model.config(), longest, longest, session);
}

// Who looked at whom: all that was read and said, but for the end mark, and for an answer's last
// token and what a learned table has no row for, which were not read. Of an encoder the text with
// its masks.
std::vector<AttentionMaps> maps_of(const Sequence& sequence, const Transformer<float>& model,
                                   const Language& language, int threads) {
  const bool two_stacks = language.arch == Arch::kEncoderDecoder;
  const Generation& added = sequence.added;
  std::vector<Index> ids = two_stacks ? std::vector<Index>{*language.specials.bos} : sequence.ids;
  ids.insert(ids.end(), added.tokens.begin(), added.tokens.end());
  const auto longest = model.config().longest_sequence();
  const bool unread = two_stacks || added.finish == Finish::kEos ||
                      (longest && static_cast<Index>(ids.size()) > *longest);
  if (unread && !added.tokens.empty()) ids.pop_back();
  if (!two_stacks) return attention_maps(model, ids, *language.written, {}, nullptr, threads);
  return attention_maps(model, ids, *language.written, sequence.ids, language.read.get(), threads);
}

void save_maps(const Options& options, const std::vector<AttentionMaps>& maps,
               const std::string& history, const cli::Session& session) {
  Hdf5Writer writer;
  for (const AttentionMaps& part : maps) write_attention_maps(writer, part);
  Provenance provenance;
  provenance.seed = options.seed;
  provenance.command = session.history();
  provenance.earlier_history = history;
  write_provenance(writer, provenance);
  write_output(options.dump_attention, writer.finish());
}

int run(const Options& options, cli::Session& session) {
  if (!options.dump_attention.empty()) check_output(options.dump_attention, {options.input});
  const Hdf5Reader reader =
      Hdf5Reader::open(options.input, {options.max_bytes, !options.no_verify});
  const Checkpoint checkpoint = read_checkpoint(reader);
  const Transformer<float>& model = *checkpoint.model;
  refuse_idle_options(model.config().arch, session);
  const Language language = language_of(checkpoint, options.specials);
  std::vector<Sequence> sequences =
      read_prompts({options.prompt, options.prompts, options.max_bytes, options.skip_unknown},
                   language, session);
  if (language.arch == Arch::kEncoder) {
    fill(options, model, language, sequences, session);
  } else {
    decode(options, model, language, sequences, session);
  }

  std::vector<AttentionMaps> maps;
  if (options.show || !options.dump_attention.empty()) {
    maps = maps_of(sequences.front(), model, language, static_cast<int>(options.threads));
  }
  if (options.format == cli::Format::kJson) {
    session.report().write(answers_json(sequences, language, options.echo, maps));
  } else {
    // Of several prompts each has one line, whatever the model says.
    session.report().write(
        answers_text(sequences, language, options.echo, options.prompt.has_value()));
  }
  if (options.show) session.report().write(maps_text(maps, session.terminal()));
  if (!options.dump_attention.empty()) save_maps(options, maps, read_history(reader), session);
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
                     "one result for each line of a file"}},
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
                "--dump-attention writes /attention (block, head, query, key) with the tokens of\n"
                "both axes; for an encoder-decoder there are /encoder/attention, its own\n"
                "/decoder/attention, and from its tokens to the source's /cross/attention.",
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare, run);
}
