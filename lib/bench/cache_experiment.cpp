#include "bench/cache_experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bench/yardsticks.h"

namespace attn {
namespace {

// Rows of length first, first + 1, ... last: what one by one reading of a growing cache sums to.
Index sum_of_lengths(Index first, Index last) {
  return (first + last) * (last - first + 1) / 2;
}

struct Formula {
  Index rows;
  std::string_view text;
};

// The numbers are written as their formulas read, not by what the plan would run.
Formula formula_of(std::string_view phase, CacheKind cache, const DecodeWork& work) {
  const bool cached = cache != CacheKind::kNone;
  const Index n = work.new_tokens;
  const Index p = work.prompt;
  if (phase == "prefill") return p == 0 ? Formula{n, "n"} : Formula{p, "P"};
  if (p == 0) return cached ? Formula{n, "n"} : Formula{n * (n + 1) / 2, "n(n+1)/2"};
  if (phase == "decode") {
    return cached ? Formula{n - 1, "N-1"}
                  : Formula{(n - 1) * p + n * (n - 1) / 2, "(N-1)P + N(N-1)/2"};
  }
  return cached ? Formula{p + n - 1, "P+N-1"} : Formula{n * p + n * (n - 1) / 2, "NP + N(N-1)/2"};
}

Elapsed time_of(const CacheRow& row, const DecodeRun& run, bool one_pass) {
  const bool decode_has_all = row.work.prompt == 0 && !one_pass;
  Elapsed time;
  if (row.phase != "decode" || decode_has_all) time += run.first;
  if (row.phase != "prefill") time += run.others;
  return time;
}

struct Comparison {
  double difference = 0;
  double bound = 0;
};

// Rows of `other` against those of `reference` from row `from` on.
Comparison compare(Matrix<const float> reference, Matrix<const float> other) {
  Comparison result;
  double largest = 0;
  for (Index i = 0; i < other.rows(); ++i) {
    for (Index j = 0; j < other.cols(); ++j) {
      const double wanted = reference(i, j);
      const double difference = std::abs(wanted - static_cast<double>(other(i, j)));
      // A NaN must not be lost by a comparison that it makes false.
      if (!(difference <= result.difference)) result.difference = difference;
      largest = std::max(largest, std::abs(wanted));
      if (std::isnan(difference)) return {difference, kOutputBound * largest};
    }
  }
  result.bound = kOutputBound * largest;
  return result;
}

}  // namespace

std::optional<double> CacheRow::bandwidth() const {
  if (!kv_bytes_read || !weight_bytes_read) return std::nullopt;
  return static_cast<double>(*kv_bytes_read + *weight_bytes_read) * 1e9 / wall.median();
}

CacheExperiment::CacheExperiment(std::vector<std::unique_ptr<DecodeSubject>> subjects,
                                 std::vector<DecodeWork> work, std::vector<CacheKind> caches)
    : subjects_(std::move(subjects)), work_(std::move(work)), caches_(std::move(caches)) {
  for (Index s = 0; s < static_cast<Index>(subjects_.size()); ++s) {
    for (const DecodeWork& one : work_) {
      for (const CacheKind cache : caches_) {
        if (one.prompt == 0 && cache != CacheKind::kNone) add_way(s, one, cache, true);
        add_way(s, one, cache, false);
      }
    }
  }
}

void CacheExperiment::add_way(Index index, const DecodeWork& work, CacheKind cache, bool one_pass) {
  Way way;
  way.subject = index;
  way.work = work;
  way.plan = {cache, one_pass ? work.total() : work.first(), work.total()};
  way.one_pass = one_pass;
  way.first_row = rows_.size();
  const auto add_row = [&](std::string_view phase, Index tokens) {
    const Formula formula = formula_of(phase, cache, work);
    CacheRow row;
    row.phase = std::string(phase);
    row.subject = index;
    row.kv_heads = subject(index).kv_heads();
    row.cache = cache;
    row.work = work;
    row.tokens = tokens;
    row.key_rows_expected = formula.rows;
    row.formula = std::string(formula.text);
    rows_.push_back(std::move(row));
  };
  if (work.prompt == 0) {
    add_row(one_pass ? "prefill" : "decode", work.new_tokens);
  } else {
    add_row("prefill", work.prompt);
    if (work.new_tokens > 1) add_row("decode", work.new_tokens - 1);
    add_row("total", work.new_tokens);
  }
  way.row_count = rows_.size() - way.first_row;
  ways_.push_back(way);
}

void CacheExperiment::verify() {
  std::vector<Index> prompts;
  for (const DecodeWork& one : work_) {
    if (std::find(prompts.begin(), prompts.end(), one.prompt) == prompts.end())
      prompts.push_back(one.prompt);
  }
  for (Index s = 0; s < static_cast<Index>(subjects_.size()); ++s) {
    for (const Index prompt : prompts) verify_group(s, prompt);
  }
}

// All work of one prompt: the longest is run, the others are its beginnings.
void CacheExperiment::verify_group(Index index, Index prompt) {
  DecodeWork longest{prompt, 0};
  for (const DecodeWork& one : work_) {
    if (one.prompt == prompt) longest.new_tokens = std::max(longest.new_tokens, one.new_tokens);
  }
  const Index width = subject(index).width();
  const Index steps = longest.total() - longest.first() + 1;
  const auto new_outputs = [&](Index rows) {
    return std::vector<float>(static_cast<std::size_t>(rows * width));
  };
  std::vector<float> reference;
  for (const CacheKind cache : caches_) {
    std::vector<float> outputs = new_outputs(steps);
    const DecodeRun run = run_plan(subject(index), {cache, longest.first(), longest.total()},
                                   {outputs.data(), steps, width});
    std::optional<Comparison> comparison;
    if (reference.empty()) {
      reference = std::move(outputs);
    } else {
      comparison = compare({reference.data(), steps, width}, {outputs.data(), steps, width});
    }
    for (const Way& way : ways_) {
      if (way.subject != index || way.work.prompt != prompt || way.plan.cache != cache ||
          way.one_pass)
        continue;
      set_counts(way, run.counts);
      if (comparison) set_difference(way, comparison->difference, comparison->bound);
    }
  }
  std::vector<float> last = new_outputs(1);
  for (const Way& way : ways_) {
    if (way.subject != index || way.work.prompt != prompt || !way.one_pass) continue;
    const DecodeRun run = run_plan(subject(index), way.plan, {last.data(), 1, width});
    set_counts(way, run.counts);
    const Comparison comparison = compare(
        {reference.data() + (way.plan.total - 1) * width, 1, width}, {last.data(), 1, width});
    set_difference(way, comparison.difference, comparison.bound);
  }
}

void CacheExperiment::set_counts(const Way& way, const std::vector<StepCount>& counts) {
  const StepCount first = counts.front();
  const StepCount last = counts[static_cast<std::size_t>(way.plan.steps() - 1)];
  const bool cached = way.plan.cache != CacheKind::kNone;
  for (std::size_t r = way.first_row; r < way.first_row + way.row_count; ++r) {
    CacheRow& row = rows_[r];
    const bool prefill = row.phase == "prefill";
    const bool after_prefill = row.phase == "decode" && row.work.prompt > 0;
    const StepCount end = prefill ? first : last;
    row.key_rows = end.key_rows - (after_prefill ? first.key_rows : 0);
    row.cache_bytes = end.cache_bytes;
    row.allocated_bytes = end.allocated_bytes;
    if (cached && row.phase == "decode") {
      const Index from = after_prefill ? way.plan.first + 1 : 1;
      row.kv_bytes_read = end.cache_bytes / way.plan.total * sum_of_lengths(from, way.plan.total);
      row.weight_bytes_read = subject(way.subject).weight_bytes() * (way.plan.total - from + 1);
    }
    if (row.key_rows != row.key_rows_expected) agreement_.counts = false;
  }
}

void CacheExperiment::set_difference(const Way& way, double difference, double bound) {
  for (std::size_t r = way.first_row; r < way.first_row + way.row_count; ++r) {
    rows_[r].max_difference = difference;
  }
  const bool within = difference <= bound;
  const bool worst = !agreement_.compared || !within ||
                     difference * agreement_.bound > agreement_.max_difference * bound;
  agreement_.compared = true;
  if (agreement_.outputs && worst) {
    agreement_.max_difference = difference;
    agreement_.bound = bound;
  }
  if (!within) agreement_.outputs = false;
}

void CacheExperiment::measure(const Interleaving& how,
                              const std::function<void(Index, Index)>& progress) {
  const auto ways = static_cast<Index>(ways_.size());
  const Index all = ways * (how.warmup + how.repeats);
  Index done = 0;
  std::vector<float> outputs;
  run_interleaved(ways, how, [&](Index index, bool timed) {
    const Way& way = ways_[static_cast<std::size_t>(index)];
    DecodeSubject& one = subject(way.subject);
    const Index steps = way.plan.steps();
    const auto size = static_cast<std::size_t>(steps * one.width());
    if (outputs.size() < size) outputs.resize(size);
    const DecodeRun run = run_plan(one, way.plan, {outputs.data(), steps, one.width()});
    set_counts(way, run.counts);
    for (std::size_t r = way.first_row; timed && r < way.first_row + way.row_count; ++r) {
      const Elapsed time = time_of(rows_[r], run, way.one_pass);
      rows_[r].wall.add(time.wall_ns);
      rows_[r].cpu.add(time.cpu_ns);
    }
    if (progress) progress(++done, all);
  });
}

void CacheExperiment::add_yardsticks(int threads) {
  std::map<Index, double> measured;
  for (CacheRow& row : rows_) {
    if (!row.kv_bytes_read) continue;
    const Index bytes = working_set(row);
    const auto known = measured.find(bytes);
    row.reference_bandwidth =
        known != measured.end() ? known->second : read_bandwidth(bytes, threads);
    measured[bytes] = *row.reference_bandwidth;
  }
}

}  // namespace attn
