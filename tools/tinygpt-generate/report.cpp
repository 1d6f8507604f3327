#include "tinygpt-generate/report.h"

#include <fmt/core.h>

#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "text/one_line.h"

namespace attn {
namespace {

// The new tokens without the end mark.
std::vector<Index> said(const Sequence& sequence) {
  std::vector<Index> ids = sequence.added.tokens;
  if (sequence.added.finish == Finish::kEos) ids.pop_back();
  return ids;
}

std::string answer(const Sequence& sequence, const Language& language, bool echo) {
  const Tokenizer& tokenizer = *language.written;
  if (language.arch == Arch::kDecoder) {
    std::vector<Index> ids;
    // A BOS nobody typed is not echoed.
    if (echo) ids.assign(sequence.ids.begin() + (sequence.bos_added ? 1 : 0), sequence.ids.end());
    const std::vector<Index> added = said(sequence);
    ids.insert(ids.end(), added.begin(), added.end());
    return tokenizer.decode(ids);
  }
  const std::string text =
      tokenizer.decode(language.arch == Arch::kEncoder ? sequence.filled.ids : said(sequence));
  // An answer is a text of its own, not the prompt's end.
  return echo ? sequence.prompt + "\t" + text : text;
}

// Rows of keys that the projections of one kind have multiplied; they agree within a kind.
Index rows_of(const KeyRowCounts& counts, std::string_view first, std::string_view last) {
  for (const auto& [name, rows] : counts.rows) {
    if (name.starts_with(first) && name.ends_with(last)) return rows;
  }
  return 0;
}

void put_generation(cli::Json& result, const Sequence& sequence, Arch arch) {
  const Generation& added = sequence.added;
  const bool two_stacks = arch == Arch::kEncoderDecoder;
  result["key_rows"] = rows_of(added.counts, two_stacks ? "decoder.blocks" : "blocks", ".attn");
  if (two_stacks) {
    result["cross_key_rows"] = rows_of(added.counts, "decoder.blocks", ".cross_attn");
    result["encoder_key_rows"] = rows_of(added.counts, "encoder.blocks", ".attn");
  }
  result["cache_bytes"] = added.cache_bytes;
  result["finish"] = added.finish == Finish::kEos ? "eos" : "length";
  result["log_probs"] = added.log_probs;
}

void put_filling(cli::Json& result, const Filling& filled) {
  result["places"] = filled.places;
  result["log_probs"] = filled.log_probs;
}

std::vector<Index> new_ids(const Sequence& sequence, Arch arch) {
  if (arch != Arch::kEncoder) return sequence.added.tokens;
  std::vector<Index> guesses;
  for (const Index place : sequence.filled.places) {
    guesses.push_back(sequence.filled.ids[static_cast<std::size_t>(place)]);
  }
  return guesses;
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

std::string answers_text(const std::vector<Sequence>& sequences, const Language& language,
                         bool echo, bool as_it_is) {
  std::string lines;
  for (const Sequence& sequence : sequences) {
    const std::string text = answer(sequence, language, echo);
    lines += as_it_is ? text : one_line(text);
    lines += '\n';
  }
  return lines;
}

std::string answers_json(const std::vector<Sequence>& sequences, const Language& language,
                         bool echo, const std::vector<AttentionMaps>& maps) {
  cli::Json document;
  document["results"] = cli::Json::array();
  for (const Sequence& sequence : sequences) {
    cli::Json result = {{"prompt", sequence.prompt},
                        {"prompt_ids", sequence.ids},
                        {"new_ids", new_ids(sequence, language.arch)},
                        {"text", answer(sequence, language, echo)}};
    if (language.arch == Arch::kEncoder) {
      put_filling(result, sequence.filled);
    } else {
      put_generation(result, sequence, language.arch);
    }
    for (const AttentionMaps& part : maps) {
      if (!part.induction) continue;
      cli::Json& blocks = result["induction"] = cli::Json::array();
      for (Index block = 0; block < part.blocks(); ++block) {
        const double* scores = part.induction->data() + block * part.heads();
        blocks.push_back(std::vector<double>(scores, scores + part.heads()));
      }
    }
    document["results"].push_back(std::move(result));
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
        picture.title = fmt::format("{}{}block {} head {}", part.part, part.part.empty() ? "" : " ",
                                    block, head);
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
