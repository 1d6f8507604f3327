#include "bench/serving_experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/output_difference.h"

namespace attn {
namespace {

// Outputs of the sequences alone that are kept for comparing.
constexpr Index kReferenceBytes = Index{256} << 20;

double quantile_of(const std::vector<Index>& values, double share) {
  return Samples(std::vector<std::int64_t>(values.begin(), values.end())).quantile(share);
}

double per_second(Index tokens, const Samples& ns) {
  return static_cast<double>(tokens) * 1e9 / ns.median();
}

}  // namespace

double ServingRow::prompt_rate() const {
  return per_second(run.prefilled, prefill);
}

double ServingRow::decode_rate(const ServingLoad& load) const {
  return per_second(load.new_tokens() - load.count(), decode);
}

double ServingRow::total_rate(const ServingLoad& load) const {
  return per_second(load.new_tokens(), wall);
}

double ServingRow::steps_to_finish(double share) const {
  return quantile_of(run.steps_to_finish, share);
}

double ServingRow::waste_at_end() const {
  return 1 - static_cast<double>(run.ended_rows) / static_cast<double>(run.reserved_rows);
}

ServingExperiment::ServingExperiment(std::unique_ptr<ServingSubject> subject, ServingLoad load,
                                     const std::vector<ServingSettings>& ways, std::uint64_t seed)
    : subject_(std::move(subject)),
      load_(std::move(load)),
      ids_(serving_ids(load_, subject_->kinds(), seed)) {
  ServingSettings alone;
  alone.way = ServingWay::kAlone;
  if (!ways.empty()) {
    alone.types = ways.front().types;
    alone.window = ways.front().window;
  }
  std::vector<ServingSettings> all = {alone};
  all.insert(all.end(), ways.begin(), ways.end());
  for (const ServingSettings& settings : all) {
    ServingRow row;
    row.settings = settings;
    row.formula = "sum of P+N-1";
    row.key_rows_expected = load_.rows();
    if (settings.way == ServingWay::kShared) {
      row.formula += ", prefix once";
      row.key_rows_expected -= shared_rows(load_, settings.page_size) * (load_.count() - 1);
    }
    rows_.push_back(std::move(row));
  }
  const auto kept = [this] {
    Index count = 0;
    for (const ServingRequest& one : load_.requests) count += (one.new_tokens - 1) / stride_ + 2;
    return count;
  };
  const Index most = kReferenceBytes / (subject_->width() * Index{sizeof(float)});
  while (kept() > most && stride_ < load_.longest) stride_ *= 2;
  Index first = 0;
  for (const ServingRequest& one : load_.requests) {
    first_.push_back(first);
    first += (one.new_tokens - 1) / stride_ + 2;
  }
  first_.push_back(first);
}

// Every stride-th output of a sequence is kept, and behind them its last.
std::optional<Index> ServingExperiment::place(Index request, Index token) const {
  const auto r = static_cast<std::size_t>(request);
  if (token == load_.requests[r].new_tokens - 1) return first_[r + 1] - 1;
  if (token % stride_ != 0) return std::nullopt;
  return first_[r] + token / stride_;
}

// What storing numbers as the ways do makes of what the sequences alone give.
void ServingExperiment::compare_storage(const std::vector<float>& outputs) {
  const KvTypes types = rows_.front().settings.types;
  if (types.exact()) return;
  const Index width = subject_->width();
  std::vector<float> exact(outputs.size());
  ServingSettings alone;
  alone.way = ServingWay::kAlone;
  alone.window = rows_.front().settings.window;
  serve(*subject_, load_, ids_, alone, [&](Index request, Index token, const float* output) {
    if (const std::optional<Index> at = place(request, token))
      std::copy_n(output, width, exact.data() + *at * width);
  });
  const Index count = first_.back();
  agreement_.add_storage_error(
      types,
      output_difference({exact.data(), count, width}, {outputs.data(), count, width}).share());
}

void ServingExperiment::verify(bool outputs) {
  const Index width = subject_->width();
  std::vector<float> reference(static_cast<std::size_t>(outputs ? first_.back() * width : 0));
  double largest = 0;
  for (ServingRow& row : rows_) {
    const bool alone = row.settings.way == ServingWay::kAlone;
    double difference = 0;
    const auto keep_or_compare = [&](Index request, Index token, const float* output) {
      const std::optional<Index> at = place(request, token);
      if (!at) return;
      float* const wanted = reference.data() + *at * width;
      if (alone) std::copy_n(output, width, wanted);
      const OutputDifference found = output_difference({wanted, 1, width}, {output, 1, width});
      largest = std::max(largest, found.largest_output);
      // A NaN must not be lost by a comparison that it makes false, nor replaced.
      if (!std::isnan(difference) && !(found.largest <= difference)) difference = found.largest;
    };
    row.run = serve(*subject_, load_, ids_, row.settings,
                    outputs ? ServingOutput(keep_or_compare) : ServingOutput());
    row.key_rows_expected += row.run.recomputed;
    if (row.run.recomputed > 0) row.formula += ", recomputed";
    if (row.run.key_rows != row.key_rows_expected || !row.run.pages_agree)
      agreement_.counts = false;
    if (!outputs || (alone && !std::isnan(difference))) continue;
    row.max_difference = difference;
    const KvTypes types = row.settings.types;
    agreement_.add(types, difference, output_bound(types) * largest);
  }
  if (outputs) compare_storage(reference);
}

void ServingExperiment::measure(const Interleaving& how,
                                const std::function<void(Index, Index)>& progress) {
  const auto ways = static_cast<Index>(rows_.size());
  const Index all = ways * (how.warmup + how.repeats);
  Index done = 0;
  run_interleaved(ways, how, [&](Index index, bool timed) {
    ServingRow& row = rows_[static_cast<std::size_t>(index)];
    const ServingRun run = serve(*subject_, load_, ids_, row.settings, {});
    if (run.key_rows != row.key_rows_expected || !run.pages_agree) agreement_.counts = false;
    if (timed) {
      row.wall.add(run.wall_ns());
      row.prefill.add(run.prefill.wall_ns);
      row.decode.add(run.decode.wall_ns);
      row.cpu.add(run.prefill.cpu_ns + run.decode.cpu_ns);
      const Samples finish(run.ns_to_finish);
      for (std::size_t i = 0; i < std::size(kFinishShares); ++i)
        row.finish[i].add(std::llround(finish.quantile(kFinishShares[i])));
    }
    if (progress) progress(++done, all);
  });
}

}  // namespace attn
