#include "tinygpt-generate/explain.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/tensor_argument.h"
#include "model/decoding.h"
#include "text/id_tokenizer.h"
#include "tinygpt-generate/settings.h"

namespace attn {
namespace {

// One choice, explained.
struct Explanation {
  Index row = 0;                      // of --logits
  std::vector<Candidate> candidates;  // the first, and the chosen one where it is none of them
  Index chosen = 0;
  Index chosen_rank = 0;
  Index kept = 0;
  Index vocab_size = 0;
  double drawn = 0;
  double margin = 0;
};

template <class T>
Explanation explain(std::span<const T> logits, std::span<const Index> seen, Index count,
                    const SamplingSettings& settings, Index position) {
  NextToken next(logits, seen, settings);
  Explanation made;
  made.drawn = settings.greedy() ? 0 : drawn_number(settings, position);
  made.chosen = next.at(made.drawn);
  made.margin = next.margin(made.drawn);
  made.chosen_rank = next.rank_of(made.chosen);
  made.kept = next.kept();
  made.vocab_size = next.vocab_size();
  made.candidates = next.best(count);
  if (made.chosen_rank >= static_cast<Index>(made.candidates.size())) {
    made.candidates.push_back(next.best(made.chosen_rank + 1).back());
  }
  return made;
}

// Rank of the i-th candidate shown.
Index rank_at(const Explanation& made, std::size_t i, Index count) {
  return static_cast<Index>(i) < count ? static_cast<Index>(i) : made.chosen_rank;
}

// A filter does not see what the one before it dropped.
std::vector<std::string> cells(const Explanation& made, std::size_t i, Index count,
                               const Tokenizer& tokenizer, bool short_numbers) {
  const Candidate& one = made.candidates[i];
  const auto number = [&](double value, const char* few) {
    if (!short_numbers) return fmt::format("{}", value);
    constexpr double kWide = 1e9;  // from here on all digits would take a line
    return fmt::format(fmt::runtime(std::abs(value) < kWide ? few : "{:.4e}"), value);
  };
  const auto word = [](bool seen, bool kept) { return !seen ? "-" : kept ? "yes" : "no"; };
  return {fmt::format("{}", rank_at(made, i, count) + 1),
          fmt::format("{}", one.id),
          tokenizer.label(one.id),
          number(one.logit, "{:.4f}"),
          number(one.penalised, "{:.4f}"),
          number(one.scaled, "{:.4f}"),
          word(true, one.by_top_k),
          one.by_top_k ? number(one.mass_before, "{:.6f}") : "-",
          word(one.by_top_k, one.by_top_p),
          word(one.by_top_p, one.by_min_p),
          number(one.probability, "{:.6f}"),
          one.id == made.chosen ? "chosen" : ""};
}

cli::Table table_of(bool with_row) {
  using Align = cli::Table::Align;
  std::vector<cli::Table::Column> columns = {{"rank"},  {"id"},          {"text", Align::kLeft},
                                             {"logit"}, {"penalised"},   {"scaled"},
                                             {"top-k"}, {"before"},      {"top-p"},
                                             {"min-p"}, {"probability"}, {"", Align::kLeft}};
  if (with_row) columns.insert(columns.begin(), {"row"});
  if (with_row) columns.back().name = "chosen";
  return cli::Table(std::move(columns));
}

std::string text_of(const std::vector<Explanation>& all, const Options& options, Index count,
                    const Tokenizer& tokenizer) {
  std::string text;
  for (const Explanation& made : all) {
    if (!text.empty()) text += '\n';
    if (!options.logits.empty()) text += fmt::format("row {}\n", made.row);
    cli::Table table = table_of(false);
    for (std::size_t i = 0; i < made.candidates.size(); ++i) {
      table.add(cells(made, i, count, tokenizer, true));
    }
    text += table.text();
    text += options.sampling.greedy()
                ? fmt::format("the largest of {} is taken, by a margin of {:.6g}\n",
                              made.vocab_size, made.margin)
                : fmt::format("{} of {} may be drawn; seed {} drew {:.6f}, by a margin of {:.6g}\n",
                              made.kept, made.vocab_size, options.seed, made.drawn, made.margin);
  }
  return text;
}

std::string tsv_of(const std::vector<Explanation>& all, Index count, const Tokenizer& tokenizer) {
  cli::Table table = table_of(true);
  for (const Explanation& made : all) {
    for (std::size_t i = 0; i < made.candidates.size(); ++i) {
      std::vector<std::string> row = cells(made, i, count, tokenizer, false);
      row.insert(row.begin(), fmt::format("{}", made.row));
      row.pop_back();
      row.emplace_back(made.candidates[i].id == made.chosen ? "1" : "0");
      table.add(std::move(row));
    }
  }
  return table.tsv();
}

std::string json_of(const std::vector<Explanation>& all, const Options& options, Index count,
                    const Tokenizer& tokenizer) {
  cli::Json document;
  cli::Json& results = document["results"] = cli::Json::array();
  for (const Explanation& made : all) {
    cli::Json& result = results.emplace_back();
    if (!options.logits.empty()) result["row"] = made.row;
    result["chosen"] = made.chosen;
    result["kept"] = made.kept;
    if (!options.sampling.greedy()) result["drawn"] = made.drawn;
    result["margin"] = cli::json_number(made.margin);
    cli::Json& candidates = result["candidates"] = cli::Json::array();
    for (std::size_t i = 0; i < made.candidates.size(); ++i) {
      const Candidate& one = made.candidates[i];
      candidates.push_back({{"rank", rank_at(made, i, count) + 1},
                            {"id", one.id},
                            {"text", tokenizer.label(one.id)},
                            {"logit", cli::json_number(one.logit)},
                            {"penalised", cli::json_number(one.penalised)},
                            {"scaled", cli::json_number(one.scaled)},
                            {"top_k", one.by_top_k},
                            {"mass_before", one.mass_before},
                            {"top_p", one.by_top_p},
                            {"min_p", one.by_min_p},
                            {"probability", one.probability}});
    }
  }
  return cli::json_text(document);
}

void report(const std::vector<Explanation>& all, const Options& options, Index count,
            const Tokenizer& tokenizer, cli::Session& session) {
  switch (options.format) {
    case cli::Format::kJson:
      return session.report().write(json_of(all, options, count, tokenizer));
    case cli::Format::kTsv:
      return session.report().write(tsv_of(all, count, tokenizer));
    default:
      session.report().write(text_of(all, options, count, tokenizer));
  }
}

std::vector<Index> wanted_rows(const Options& options, Index rows) {
  if (options.rows.empty()) {
    std::vector<Index> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), Index{0});
    return all;
  }
  for (const Index row : options.rows) {
    if (row >= rows) {
      throw UsageError(fmt::format("--rows {}: --logits has the rows 0 to {}", row, rows - 1));
    }
  }
  return options.rows;
}

}  // namespace

void explain_next(const Options& options, const Transformer<float>& model, const Language& language,
                  cli::Session& session) {
  std::vector<Sequence> sequences = read_prompts(
      {options.prompt, "", options.max_bytes, options.skip_unknown}, language, session);
  const Sequence& sequence = sequences.front();
  const std::vector<Index> begin = first_tokens(sequence, language);
  const SourceTokens source{sequence.ids};
  FeedSettings feed = feed_settings(options);
  feed.new_tokens = 1;
  auto decoding = begin_session<float>(
      model, language.arch == Arch::kEncoderDecoder ? &source : nullptr, begin, feed);
  const std::span<const float> logits = decoding.feed(begin);
  const SamplingSettings settings = sampling_settings(options, model.config(), session);
  session.did("explained the next token of " + input_name(options.input));
  report({explain<float>(logits, begin, options.explain_next, settings, decoding.length())},
         options, options.explain_next, *language.written, session);
}

void explain_logits(const Options& options, cli::Session& session) {
  const Tensor<double> logits =
      tensor_argument(options.logits, "--logits", {options.max_bytes, true});
  const Index vocab_size = logits.shape.empty() ? 1 : logits.dim(-1);
  if (logits.size() == 0) throw DataError("--logits: no numbers");
  const IdTokenizer tokenizer(vocab_size);
  std::vector<Index> seen;
  try {
    if (options.prompt) seen = tokenizer.encode(*options.prompt);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--prompt: {}", error.what()), error.hints());
  }
  ModelConfig config;
  config.vocab_size = vocab_size;
  const SamplingSettings settings = sampling_settings(options, config, session);
  const Index count = options.explain_next > 0 ? options.explain_next : kExplained;
  std::vector<Explanation> all;
  for (const Index row : wanted_rows(options, logits.size() / vocab_size)) {
    const std::span<const double> one(logits.matrix().row(row),
                                      static_cast<std::size_t>(vocab_size));
    try {
      all.push_back(explain<double>(one, seen, count, settings, static_cast<Index>(seen.size())));
    } catch (const DataError& error) {
      throw DataError(fmt::format("--logits row {}: {}", row, error.what()), error.hints());
    }
    all.back().row = row;
  }
  session.did(
      fmt::format("explained the choice from {} of logits", counted(std::ssize(all), "row")));
  report(all, options, count, tokenizer, session);
}

}  // namespace attn
