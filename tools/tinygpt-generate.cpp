// Continues prompts with a trained model.
//
//   tinygpt-generate model.h5 --prompt "3 5" --new-tokens 8
//   tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt "3 5" --new-tokens 8 --show
//   tinygpt-generate gpl.h5 --prompt "The license" --new-tokens 200 --temperature 0.8 --seed 1
//   tinygpt-generate model.h5 --prompts prompts.txt --format json

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/tool.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/output.h"
#include "io/provenance.h"
#include "model/attention_maps.h"
#include "model/checkpoint.h"
#include "model/decoding.h"
#include "ops/gemm.h"
#include "text/id_tokenizer.h"
#include "text/one_line.h"

namespace {

using namespace attn;

struct Options {
  std::string input;
  std::optional<std::string> prompt;
  std::string prompts;
  Index new_tokens = 32;
  double temperature = 0;
  Index seed = 0;
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
  table.text("prompt", options.prompt,
             "what to continue: text, or token ids (3 5) where the model has no tokenizer");
  table.input("prompts", options.prompts, "continue each line of this file, - for stdin");

  table.group("Decoding");
  table.count("new-tokens", options.new_tokens, "tokens to add to each prompt").at_least(0);
  table
      .real("temperature", options.temperature,
            "draw from softmax(logits / X); 0 takes the largest logit")
      .at_least(0);
  cli::seed_option(table, options.seed);
  table.flag("no-cache", options.no_cache, "compute the whole prefix anew for each token")
      .not_data();

  table.group("Output");
  table.flag("echo", options.echo, "print the prompt before its continuation").not_data();
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
    if (options.dump_attention == "-") {
      throw UsageError("--dump-attention - would mix with the tokens on stdout", {"give a file"});
    }
    if (file && (options.show || !options.dump_attention.empty())) {
      throw UsageError("attention maps are of one sequence: give --prompt, not --prompts");
    }
  });
}

// A prompt and what the model added to it.
struct Sequence {
  std::string where;  // as messages call it
  std::string prompt;
  std::vector<Index> prompt_ids;
  Generation added;

  // Rows that each key projection has multiplied.
  Index key_rows() const { return added.tokens.empty() ? 0 : added.counts.each(); }
  std::vector<Index> ids() const {
    std::vector<Index> all = prompt_ids;
    all.insert(all.end(), added.tokens.begin(), added.tokens.end());
    return all;
  }
};

std::vector<Sequence> read_prompts(const Options& options) {
  if (options.prompt) return {{"--prompt", *options.prompt, {}, {}}};
  const ByteSource source = ByteSource::open(options.prompts, options.max_bytes);
  std::string_view rest = as_text(source.bytes());
  std::vector<Sequence> prompts;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    prompts.push_back(
        {fmt::format("{} line {}", source.name(), prompts.size() + 1), std::string(line), {}, {}});
  }
  return prompts;
}

// A prompt typed is the user's to mend, a line of a file its maker's.
template <class Problem>
std::vector<Index> encode(const Sequence& sequence, const Tokenizer& tokenizer) {
  std::vector<Index> ids;
  try {
    ids = tokenizer.encode(sequence.prompt);
  } catch (const UsageError& error) {
    throw Problem(fmt::format("{}: {}", sequence.where, error.what()), error.hints());
  }
  if (ids.empty()) {
    throw Problem(fmt::format("{}: no token to begin with", sequence.where),
                  {fmt::format("a model continues what it is given: at least one token, such as {}",
                               tokenizer.data().kind == "ids" ? "0" : "a line end")});
  }
  return ids;
}

Checkpoint read_decoder(const Hdf5Reader& reader) {
  Checkpoint checkpoint = read_checkpoint(reader);
  const ModelConfig& config = checkpoint.model->config();
  if (config.arch != Arch::kDecoder) {
    throw DataError(fmt::format("{}: arch '{}' does not continue sequences: want a decoder",
                                reader.name(), enum_name(config.arch)));
  }
  if (checkpoint.tokenizer == nullptr) {
    checkpoint.tokenizer = std::make_shared<IdTokenizer>(config.vocab_size);
  }
  return checkpoint;
}

// Positions never trained on are allowed, but the text suffers: the user should not look for a bug.
void warn_of_length(const ModelConfig& config, Index longest_prompt, Index new_tokens,
                    const cli::Session& session) {
  const auto length = checked_add(longest_prompt, new_tokens);
  if (!length || config.seq_len == 0 || *length <= config.seq_len) return;
  if (config.longest_sequence()) return;
  session.note(fmt::format("goes on to {} tokens, though the model was trained on {} at a time",
                           *length, config.seq_len));
}

Index longest_prompt(const std::vector<Sequence>& sequences) {
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) {
    longest = std::max(longest, sequence.prompt_ids.size());
  }
  return static_cast<Index>(longest);
}

// The cached keys and values of the longest sequence, or a row of ids; the passes take less.
double bytes_of_decoding(const ModelConfig& config, Index longest_prompt, const Options& options) {
  const double tokens =
      static_cast<double>(longest_prompt) + static_cast<double>(options.new_tokens);
  const Index key_width = config.depth * config.kv_heads * config.head_dim;
  const double cached = options.no_cache ? 0 : 2.0 * sizeof(float) * static_cast<double>(key_width);
  return tokens * (cached + 2.0 * sizeof(Index));
}

// What one line of output says of a sequence.
std::string answer(const Sequence& sequence, const Tokenizer& tokenizer, bool echo) {
  return tokenizer.decode(echo ? sequence.ids() : sequence.added.tokens);
}

void write_text(const Options& options, const std::vector<Sequence>& sequences,
                const Tokenizer& tokenizer, cli::Report& report) {
  for (const Sequence& sequence : sequences) {
    const std::string text = answer(sequence, tokenizer, options.echo);
    // Of several prompts each has one line, whatever the model says.
    report.print("{}\n", options.prompt ? text : one_line(text));
  }
}

void write_json(const Options& options, const std::vector<Sequence>& sequences,
                const Tokenizer& tokenizer, cli::Report& report) {
  cli::Json document;
  document["results"] = cli::Json::array();
  for (const Sequence& sequence : sequences) {
    document["results"].push_back({{"prompt", sequence.prompt},
                                   {"prompt_ids", sequence.prompt_ids},
                                   {"new_ids", sequence.added.tokens},
                                   {"text", answer(sequence, tokenizer, options.echo)},
                                   {"key_rows", sequence.key_rows()},
                                   {"cache_bytes", sequence.added.cache_bytes}});
  }
  report.write(cli::json_text(document));
}

// Every block and head as a small map, with one scale so that they compare.
void show_maps(const AttentionMaps& maps, cli::Session& session) {
  std::vector<cli::HeatMap> pictures;
  for (Index block = 0; block < maps.blocks(); ++block) {
    for (Index head = 0; head < maps.heads(); ++head) {
      cli::HeatMap& picture = pictures.emplace_back();
      picture.title = fmt::format("block {} head {}", block, head);
      picture.values = maps.map(block, head);
      picture.hidden = maps.hidden.matrix();
      picture.row_labels = maps.tokens;
      picture.col_labels = maps.tokens;
      picture.rows_are = "query";
      picture.cols_are = "key";
    }
  }
  session.report().write("\n" + cli::heat_maps(pictures, session.terminal()));
}

void save_maps(const Options& options, const AttentionMaps& maps, const std::string& history,
               const cli::Session& session) {
  Hdf5Writer writer;
  write_attention_maps(writer, maps);
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
  const Checkpoint checkpoint = read_decoder(reader);
  const Tokenizer& tokenizer = *checkpoint.tokenizer;
  std::vector<Sequence> sequences = read_prompts(options);
  for (Sequence& sequence : sequences) {
    sequence.prompt_ids = options.prompt ? encode<UsageError>(sequence, tokenizer)
                                         : encode<DataError>(sequence, tokenizer);
  }

  const ModelConfig& config = checkpoint.model->config();
  const Index longest = longest_prompt(sequences);
  if (!config.longest_sequence()) {
    require_memory("decoding", bytes_of_decoding(config, longest, options));
  }
  warn_of_length(config, longest, options.new_tokens, session);

  GenerationSettings settings;
  settings.new_tokens = options.new_tokens;
  settings.use_cache = !options.no_cache;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling.temperature = options.temperature;
  settings.sampling.seed = static_cast<std::uint64_t>(options.seed);
  for (Sequence& sequence : sequences) {
    sequence.added = generate<float>(*checkpoint.model, sequence.prompt_ids, settings);
    ++settings.sampling.sample;
  }

  if (options.format == cli::Format::kJson) {
    write_json(options, sequences, tokenizer, session.report());
  } else {
    write_text(options, sequences, tokenizer, session.report());
  }
  if (options.show || !options.dump_attention.empty()) {
    const AttentionMaps maps =
        attention_maps(*checkpoint.model, sequences.front().ids(), tokenizer, settings.threads);
    if (options.show) show_maps(maps, session);
    if (!options.dump_attention.empty()) save_maps(options, maps, read_history(reader), session);
  }
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return attn::cli::tool_main<Options>(
      {.name = "tinygpt-generate",
       .summary = "continues prompts with a trained model",
       .usage = "MODEL --prompt TEXT [OPTIONS]",
       .examples = {{"tinygpt-generate model.h5 --prompt \"3 5\" --new-tokens 8",
                     "the tokens that follow, the largest logit each time"},
                    {"tinygpt-generate model.h5 --prompt \"3 5\" --new-tokens 10 --show",
                     "who looked at whom, each block and head"},
                    {"tinygpt-generate gpl.h5 --prompt \"You may\" --temperature 0.8 --seed 1",
                     "text drawn at random, the same for the same seed"},
                    {"tinygpt-generate model.h5 --prompts prompts.txt --format json",
                     "one result for each line of a file"}},
       .notes =
           "Stdout holds the new tokens only, one line for each prompt. What a text model\n"
           "adds to --prompt is printed as it is; for --prompts line ends, tabs and\n"
           "backslashes in it become \\n, \\t and \\\\. A prompt must hold at least one token:\n"
           "an empty one is refused, as is a character that the model was not trained on.\n"
           "A model with learned positions refuses to go on past its table; the others go\n"
           "on, with a word on stderr past the length they were trained on. --no-cache\n"
           "gives the same text by more work.",
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare, run);
}
