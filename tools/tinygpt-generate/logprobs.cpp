#include "tinygpt-generate/logprobs.h"

#include <algorithm>

#include "core/error.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

using Alternatives = std::vector<std::vector<TokenLogProbability>>;

// A sample, a hypothesis or a filling; borrowed.
struct Row {
  Index prompt = 0;
  Index sample = 0;
  std::vector<Index> tokens;
  const std::vector<double>* log_probs = nullptr;
  const Alternatives* alternatives = nullptr;
  const std::vector<Index>* places = nullptr;
  const Hypothesis* hypothesis = nullptr;
};

std::vector<Row> rows_of(const std::vector<Sequence>& sequences) {
  std::vector<Row> rows;
  Index prompt = 0;
  for (const Sequence& sequence : sequences) {
    Index sample = 0;
    for (const Generation& one : sequence.samples) {
      rows.push_back(
          {prompt, sample++, one.tokens, &one.log_probs, &one.alternatives, nullptr, nullptr});
    }
    for (const Hypothesis& one : sequence.beams.hypotheses) {
      rows.push_back({prompt, sample++, one.tokens, &one.log_probs, nullptr, nullptr, &one});
    }
    const Filling& filled = sequence.filled;
    if (!filled.places.empty()) {
      Row& row = rows.emplace_back();
      row = {prompt, 0, {}, &filled.log_probs, &filled.alternatives, &filled.places, nullptr};
      for (const Index place : filled.places) {
        row.tokens.push_back(filled.ids[static_cast<std::size_t>(place)]);
      }
    }
    ++prompt;
  }
  return rows;
}

template <class Value>
Tensor<Value> padded(Shape shape, Value padding) {
  Tensor<Value> made(std::move(shape));
  std::fill(made.values.begin(), made.values.end(), padding);
  return made;
}

void write_alternatives(Hdf5Writer& writer, const std::vector<Row>& rows, Index most) {
  Index each = 0;
  for (const Row& row : rows) {
    if (row.alternatives == nullptr) continue;
    for (const auto& one : *row.alternatives) {
      each = std::max(each, static_cast<Index>(one.size()));
    }
  }
  if (each == 0) return;
  const Shape shape = {static_cast<Index>(rows.size()), most, each};
  auto tokens = padded<Index>(shape, -1);
  auto log_probs = padded<double>(shape, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t n = 0; n < rows[i].alternatives->size(); ++n) {
      Index rank = 0;
      for (const auto& [token, log_prob] : (*rows[i].alternatives)[n]) {
        const Index at = static_cast<Index>(i) * most + static_cast<Index>(n);
        tokens.matrix()(at, rank) = token;
        log_probs.matrix()(at, rank) = log_prob;
        ++rank;
      }
    }
  }
  writer.dataset("/alternatives/tokens", tokens);
  writer.dataset("/alternatives/log_probs", log_probs);
}

void write_pools(Hdf5Writer& writer, const std::vector<Sequence>& sequences, Index most) {
  std::size_t rounds = 1;
  Index width = 1;
  for (const Sequence& sequence : sequences) {
    rounds = std::max(rounds, sequence.beams.rounds.size());
    for (const auto& pool : sequence.beams.rounds) {
      width = std::max(width, static_cast<Index>(pool.size()));
    }
  }
  const auto prompts = static_cast<Index>(sequences.size());
  auto pools = padded<Index>({prompts, static_cast<Index>(rounds), width, most}, -1);
  for (std::size_t p = 0; p < sequences.size(); ++p) {
    for (std::size_t round = 0; round < sequences[p].beams.rounds.size(); ++round) {
      Index place = static_cast<Index>(p * rounds + round) * width;
      for (const Hypothesis& one : sequences[p].beams.rounds[round]) {
        std::copy(one.tokens.begin(), one.tokens.end(), pools.matrix().row(place++));
      }
    }
  }
  writer.dataset("/pool_after_round", pools);
}

}  // namespace

void save_logprobs(const Options& options, const std::vector<Sequence>& sequences,
                   const std::string& history, const cli::Session& session) {
  const std::vector<Row> rows = rows_of(sequences);
  if (rows.empty()) throw UsageError("--logprobs: there is no new token to tell of");
  const auto count = static_cast<Index>(rows.size());
  Index most = 1;
  for (const Row& row : rows) most = std::max(most, static_cast<Index>(row.tokens.size()));
  auto tokens = padded<Index>({count, most}, -1);
  auto places = padded<Index>({count, most}, -1);
  auto log_probs = padded<double>({count, most}, 0);
  Tensor<Index> prompt({count}), sample({count}), lengths({count});
  Tensor<double> log_prob({count}), scores({count});
  for (Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Row& row = rows[at];
    prompt.values[at] = row.prompt;
    sample.values[at] = row.sample;
    lengths.values[at] = static_cast<Index>(row.tokens.size());
    std::copy(row.tokens.begin(), row.tokens.end(), tokens.matrix().row(i));
    std::copy(row.log_probs->begin(), row.log_probs->end(), log_probs.matrix().row(i));
    for (const double one : *row.log_probs) log_prob.values[at] += one;
    if (row.places != nullptr) {
      std::copy(row.places->begin(), row.places->end(), places.matrix().row(i));
    }
    if (row.hypothesis != nullptr) scores.values[at] = row.hypothesis->score;
  }
  Hdf5Writer writer;
  writer.dataset("/prompt", prompt);
  writer.dataset("/sample", sample);
  writer.dataset("/lengths", lengths);
  writer.dataset("/tokens", tokens);
  writer.dataset("/log_probs", log_probs);
  writer.dataset("/log_prob", log_prob);
  if (rows.front().places != nullptr) writer.dataset("/places", places);
  if (options.beams > 0) {
    writer.dataset("/scores", scores);
    if (options.pools) write_pools(writer, sequences, most);
  } else {
    write_alternatives(writer, rows, most);
  }
  Provenance provenance;
  provenance.seed = options.seed;
  provenance.command = session.history();
  provenance.earlier_history = history;
  write_provenance(writer, provenance);
  write_output(options.logprobs, writer.finish());
}

}  // namespace attn
