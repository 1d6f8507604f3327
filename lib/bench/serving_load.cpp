#include "bench/serving_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/counted.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"

namespace attn {
namespace {

ServingRequest request_of(Index length, const ServingLoadSettings& settings) {
  Index prompt = (length + 1) / 2;
  if (settings.prompt) prompt = std::min(*settings.prompt, length);
  if (settings.new_tokens) prompt = length + 1 - std::min(*settings.new_tokens, length);
  // What is shared is read, not written.
  prompt = std::max(prompt, settings.shared_prefix + 1);
  return {prompt, length - prompt + 1, 0};
}

}  // namespace

Index ServingLoad::rows() const {
  Index sum = 0;
  for (const ServingRequest& one : requests) sum += one.rows();
  return sum;
}

Index ServingLoad::new_tokens() const {
  Index sum = 0;
  for (const ServingRequest& one : requests) sum += one.new_tokens;
  return sum;
}

ServingLoad serving_load(const std::vector<Index>& lengths, const ServingLoadSettings& settings) {
  ServingLoad load;
  load.shared_prefix = settings.shared_prefix;
  load.longest = settings.longest;
  if (settings.longest == 0 && !lengths.empty())
    load.longest = *std::max_element(lengths.begin(), lengths.end());
  Rng gaps(settings.seed, RandomPurpose::kBenchmark);
  double arrival = 0;
  Index sum = 0;
  for (const Index length : lengths) {
    if (length < 1) throw UsageError(fmt::format("a sequence of {} tokens", length));
    if (length > load.longest) {
      throw UsageError(fmt::format("a sequence of {} is longer than --max-length {}",
                                   counted(length, "token"), grouped(load.longest)));
    }
    if (length <= settings.shared_prefix) {
      throw UsageError(fmt::format("--shared-prefix {} leaves nothing of a sequence of {}",
                                   grouped(settings.shared_prefix), counted(length, "token")));
    }
    const auto total = checked_add(sum, length);
    if (!total) throw UsageError("the tokens of all sequences leave 63 bits");
    sum = *total;
    ServingRequest request = request_of(length, settings);
    request.arrival = static_cast<Index>(arrival);
    load.requests.push_back(request);
    arrival -= settings.arrival_gap * std::log1p(-gaps.uniform());
  }
  if (lengths.empty()) throw UsageError("there are no sequences to serve");
  return load;
}

std::vector<std::vector<Index>> serving_ids(const ServingLoad& load, Index kinds,
                                            std::uint64_t seed) {
  const auto draw = [&](std::uint32_t stream, std::size_t from, std::vector<Index>& ids) {
    Rng rng(seed, RandomPurpose::kBenchmark, stream);
    for (std::size_t i = from; i < ids.size(); ++i) ids[i] = rng.below(kinds);
  };
  const auto common = static_cast<std::size_t>(load.shared_prefix);
  std::vector<Index> prefix(common);
  draw(1, 0, prefix);
  std::vector<std::vector<Index>> all;
  std::uint32_t stream = 2;
  for (const ServingRequest& request : load.requests) {
    std::vector<Index> ids = prefix;
    ids.resize(static_cast<std::size_t>(request.rows()));
    draw(stream++, common, ids);
    all.push_back(std::move(ids));
  }
  return all;
}

}  // namespace attn
