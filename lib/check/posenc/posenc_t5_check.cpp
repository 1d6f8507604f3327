#include <fmt/core.h>

#include "check/posenc/posenc_fit.h"
#include "check/posenc/posenc_suppositions.h"
#include "check/posenc/posenc_t5.h"

namespace attn {

Verdict check_t5(const PosencCase& c, bool diagnose) {
  const PosencPart& buckets = c.parts.front();
  const auto error_of = [&](const T5Making& made) {
    PartError error;
    for (Index n = 0; n < buckets.values.size(); ++n) {
      error.add(buckets.values.data()[n], t5_bucket(made, c.relative.data()[n]), n);
    }
    return error;
  };
  PosencSearch<T5Making> search;
  search.right = right_t5(c);
  Verdict verdict;
  verdict.checks.push_back(part_check(buckets, error_of(search.right), 0));
  if (!diagnose || verdict.outcome() != Outcome::kFail) return verdict;
  search.failed = {true};
  search.fits = [&](const T5Making& made, std::size_t, bool) { return error_of(made).error == 0; };
  const auto list = t5_suppositions(c);
  verdict.diagnosis = search.singles(list);
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.pair(list);
  return verdict;
}

std::vector<PosencSupposition<T5Making>> t5_suppositions(const PosencCase& c) {
  using Made = T5Making;
  std::vector<PosencSupposition<Made>> list = {
      {"t5-sign", "buckets of query - key", [](Made& m) { m.sign = -1; }},
      {"t5-sign", "the past has the upper buckets", [](Made& m) { m.future_first = true; }},
      {"t5-bidirectional",
       c.t5.bidirectional ? "buckets of the past alone" : "buckets of both sides",
       [](Made& m) { m.rules.bidirectional = !m.rules.bidirectional; }},
      {"t5-clamp", "far distances go past the last bucket",
       [](Made& m) { m.clamp = T5Clamp::kNone; }},
      {"t5-clamp", "clamped to one bucket too many", [](Made& m) { m.clamp = T5Clamp::kOneMore; }},
      {"t5-clamp", "clamped to one bucket too few", [](Made& m) { m.clamp = T5Clamp::kOneLess; }},
      {"t5-clamp", "clamped to the buckets of both directions",
       [](Made& m) { m.clamp = T5Clamp::kAllBuckets; }},
      {"t5-clamp", "the distance is clamped, not the bucket",
       [](Made& m) { m.clamp = T5Clamp::kDistance; }},
      {"t5-clamp", "every distance has a bucket of its own", [](Made& m) { m.all_exact = true; }},
      {"t5-bidirectional", "distance 0 counts as the future",
       [](Made& m) { m.future_from_zero = true; }}};
  for (const Index distance : {128, 64, 256, 512, 20, 32, 100, 1000, 1024}) {
    if (distance == c.t5.max_distance) continue;
    list.push_back({"t5-clamp", fmt::format("max_distance {} for {}", distance, c.t5.max_distance),
                    [distance](Made& m) { m.rules.max_distance = distance; }});
  }
  for (const Index count : {32, 64, 16, 8, 128}) {
    if (count == c.t5.num_buckets) continue;
    list.push_back({"t5-clamp", fmt::format("num_buckets {} for {}", count, c.t5.num_buckets),
                    [count](Made& m) { m.rules.num_buckets = count; }});
  }
  return list;
}

}  // namespace attn
