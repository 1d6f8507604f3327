#include "tinygpt-generate/report.h"

#include <fmt/core.h>

#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "text/one_line.h"

namespace attn {
namespace {

// Rows of keys that the projections of one kind have multiplied; they agree within a kind.
Index rows_of(const KeyRowCounts& counts, std::string_view first, std::string_view last) {
  for (const auto& [name, rows] : counts.rows) {
    if (name.starts_with(first) && name.ends_with(last)) return rows;
  }
  return 0;
}

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::kEos:
      return "eos";
    case Finish::kStopToken:
    case Finish::kStopped:
      return "stop";
    default:
      return "length";
  }
}

void put_work(cli::Json& result, const KeyRowCounts& counts, Index cache_bytes, Arch arch) {
  const bool two_stacks = arch == Arch::kEncoderDecoder;
  result["key_rows"] = rows_of(counts, two_stacks ? "decoder.blocks" : "blocks", ".attn");
  if (two_stacks) {
    result["cross_key_rows"] = rows_of(counts, "decoder.blocks", ".cross_attn");
    result["encoder_key_rows"] = rows_of(counts, "encoder.blocks", ".attn");
  }
  result["cache_bytes"] = cache_bytes;
}

void put_alternatives(cli::Json& result,
                      const std::vector<std::vector<TokenLogProbability>>& alternatives,
                      const Tokenizer& tokenizer) {
  if (alternatives.empty()) return;
  cli::Json& all = result["alternatives"] = cli::Json::array();
  for (const auto& likeliest : alternatives) {
    cli::Json& one = all.emplace_back(cli::Json::array());
    for (const auto& [token, log_prob] : likeliest) {
      one.push_back({{"id", token},
                     {"text", tokenizer.label(token)},
                     {"log_prob", cli::json_number(log_prob)}});
    }
  }
}

cli::Json prompt_json(const Sequence& sequence) {
  return {{"prompt", sequence.prompt}, {"prompt_ids", sequence.ids}};
}

cli::Json filling_json(const Sequence& sequence, const Language& language) {
  const Filling& filled = sequence.filled;
  std::vector<Index> guesses;
  for (const Index place : filled.places) {
    guesses.push_back(filled.ids[static_cast<std::size_t>(place)]);
  }
  cli::Json result = prompt_json(sequence);
  result["new_ids"] = guesses;
  result["text"] = sequence.texts.front();
  result["places"] = filled.places;
  result["log_probs"] = filled.log_probs;
  put_alternatives(result, filled.alternatives, *language.written);
  return result;
}

cli::Json sample_json(const Sequence& sequence, std::size_t sample, const Language& language) {
  const Generation& added = sequence.samples[sample];
  cli::Json result = prompt_json(sequence);
  if (sequence.samples.size() > 1) result["sample"] = sample;
  result["new_ids"] = added.tokens;
  result["text"] = sequence.texts[sample];
  put_work(result, added.counts, added.cache_bytes, language.arch);
  result["finish"] = finish_name(added.finish);
  result["log_probs"] = added.log_probs;
  result["smallest_lead"] = cli::json_number(added.smallest_lead);
  put_alternatives(result, added.alternatives, *language.written);
  return result;
}

cli::Json beams_json(const Sequence& sequence, const Language& language, bool pools) {
  const BeamResult& beams = sequence.beams;
  cli::Json result = prompt_json(sequence);
  cli::Json& hypotheses = result["hypotheses"] = cli::Json::array();
  for (std::size_t i = 0; i < beams.hypotheses.size(); ++i) {
    const Hypothesis& one = beams.hypotheses[i];
    hypotheses.push_back({{"new_ids", one.tokens},
                          {"text", sequence.texts[i]},
                          {"score", one.score},
                          {"log_prob", one.log_prob},
                          {"finish", finish_name(one.finish)},
                          {"log_probs", one.log_probs}});
  }
  if (pools) {
    cli::Json& rounds = result["rounds"] = cli::Json::array();
    for (const auto& pool : beams.rounds) {
      cli::Json& round = rounds.emplace_back(cli::Json::array());
      for (const Hypothesis& one : pool) {
        round.push_back(
            {{"new_ids", one.tokens}, {"score", one.score}, {"log_prob", one.log_prob}});
      }
    }
  }
  put_work(result, beams.counts, beams.cache_bytes, language.arch);
  result["smallest_lead"] = cli::json_number(beams.smallest_lead);
  return result;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

// One row for each prompt and each of its continuations.
cli::Table beams_table(const std::vector<Sequence>& sequences) {
  using Align = cli::Table::Align;
  cli::Table table(
      {{"prompt"}, {"rank"}, {"score"}, {"log_prob"}, {"tokens"}, {"text", Align::kLeft}});
  for (std::size_t prompt = 0; prompt < sequences.size(); ++prompt) {
    const auto& hypotheses = sequences[prompt].beams.hypotheses;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      table.add({fmt::format("{}", prompt + 1), fmt::format("{}", i + 1),
                 fmt::format("{:.6f}", hypotheses[i].score),
                 fmt::format("{:.6f}", hypotheses[i].log_prob),
                 fmt::format("{}", hypotheses[i].tokens.size()),
                 one_line(sequences[prompt].texts[i])});
    }
  }
  return table;
}

cli::Table answers_table(const std::vector<Sequence>& sequences) {
  cli::Table table({{"prompt"}, {"sample"}, {"finish"}, {"log_prob"}, {"tokens"}, {"text"}});
  for (std::size_t prompt = 0; prompt < sequences.size(); ++prompt) {
    const Sequence& sequence = sequences[prompt];
    const auto add = [&](std::size_t sample, const char* finish,
                         const std::vector<double>& log_probs) {
      table.add({fmt::format("{}", prompt + 1), fmt::format("{}", sample + 1), finish,
                 fmt::format("{}", sum(log_probs)), fmt::format("{}", log_probs.size()),
                 one_line(sequence.texts[sample])});
    };
    for (std::size_t i = 0; i < sequence.samples.size(); ++i) {
      add(i, finish_name(sequence.samples[i].finish), sequence.samples[i].log_probs);
    }
    if (sequence.samples.empty()) add(0, "filled", sequence.filled.log_probs);
  }
  return table;
}

std::string induction_text(const AttentionMaps& maps) {
  std::vector<cli::Table::Column> columns = {{"induction"}};
  for (Index head = 0; head < maps.heads(); ++head)
    columns.push_back({fmt::format("head {}", head)});
  cli::Table table(std::move(columns));
  for (Index block = 0; block < maps.blocks(); ++block) {
    std::vector<std::string> cells = {fmt::format("block {}", block)};
    for (Index head = 0; head < maps.heads(); ++head) {
      cells.push_back(fmt::format("{:.3f}", maps.induction->matrix()(block, head)));
    }
    table.add(std::move(cells));
  }
  return "\nmean weight on the token after the last one that was the same:\n" + table.text();
}

}  // namespace

std::string fillings_text(const std::vector<Sequence>& sequences, bool as_it_is) {
  std::string lines;
  for (const Sequence& sequence : sequences) {
    const std::string& text = sequence.texts.front();
    lines += (as_it_is ? text : one_line(text)) + '\n';
  }
  return lines;
}

std::string beams_text(const std::vector<Sequence>& sequences) {
  return beams_table(sequences).text();
}

std::string answers_tsv(const std::vector<Sequence>& sequences, const Options& options) {
  return (options.beams > 0 ? beams_table(sequences) : answers_table(sequences)).tsv();
}

std::string answers_json(const std::vector<Sequence>& sequences, const Language& language,
                         const Options& options, const std::vector<AttentionMaps>& maps) {
  cli::Json document;
  cli::Json& results = document["results"] = cli::Json::array();
  for (const Sequence& sequence : sequences) {
    if (language.arch == Arch::kEncoder) {
      results.push_back(filling_json(sequence, language));
    } else if (options.beams > 0) {
      results.push_back(beams_json(sequence, language, options.pools));
    }
    for (std::size_t i = 0; i < sequence.samples.size(); ++i) {
      results.push_back(sample_json(sequence, i, language));
    }
  }
  for (const AttentionMaps& part : maps) {
    if (!part.induction) continue;
    cli::Json& blocks = results.back()["induction"] = cli::Json::array();
    for (Index block = 0; block < part.blocks(); ++block) {
      const double* scores = part.induction->data() + block * part.heads();
      blocks.push_back(std::vector<double>(scores, scores + part.heads()));
    }
  }
  return cli::json_text(document);
}

std::string maps_text(const std::vector<AttentionMaps>& maps, const cli::Terminal& terminal) {
  std::string text;
  for (const AttentionMaps& part : maps) {
    std::vector<cli::HeatMap> pictures;
    for (Index block = 0; block < part.blocks(); ++block) {
      for (Index head = 0; head < part.heads(); ++head) {
        cli::HeatMap& picture = pictures.emplace_back();
        picture.group = fmt::format("{}{}block {}", part.part, part.part.empty() ? "" : " ", block);
        picture.title = fmt::format("head {}", head);
        picture.values = part.map(block, head);
        picture.hidden = part.hidden.matrix();
        picture.row_labels = part.query_tokens;
        picture.col_labels = part.key_tokens;
        picture.rows_are = "query";
        picture.cols_are = "key";
      }
    }
    text += '\n';
    text += cli::heat_maps(pictures, terminal);
    if (part.induction) text += induction_text(part);
  }
  return text;
}

}  // namespace attn
