#include "bench/doubts.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace attn {
namespace {

constexpr double kNoisySpread = 0.1;
constexpr double kShortNs = 50'000;  // about a thousand readings of the clock

}  // namespace

std::vector<std::string> doubts_before(const Machine& machine, const std::string& build,
                                       Index threads) {
  std::vector<std::string> doubts;
  if (build != "Release" && build != "RelWithDebInfo" && build != "MinSizeRel") {
    doubts.push_back(
        fmt::format("this is a {} build: its times mean little", build.empty() ? "plain" : build));
  }
  if (machine.load > machine.cores) {
    doubts.push_back(fmt::format("the machine is busy: load average {:.1f} on {} cores",
                                 machine.load, machine.cores));
  }
  if (threads > machine.cores) {
    doubts.push_back(fmt::format("{} threads on {} cores", threads, machine.cores));
  }
  return doubts;
}

std::vector<std::string> spread_doubts(const std::vector<const Samples*>& times) {
  Index noisy = 0;
  Index brief = 0;
  double worst = 0;
  for (const Samples* time : times) {
    const double spread = time->relative_iqr();
    if (spread > kNoisySpread) ++noisy;
    worst = std::max(worst, spread);
    if (time->median() < kShortNs) ++brief;
  }
  std::vector<std::string> doubts;
  if (noisy > 0) {
    doubts.push_back(
        fmt::format("{} of {} times are noisy: half of a time's samples spread over up to {:.0f} % "
                    "of its median",
                    noisy, times.size(), 100 * worst));
  }
  if (brief > 0) {
    doubts.push_back(fmt::format("{} of {} times are below 50 us: more tokens would tell more",
                                 brief, times.size()));
  }
  return doubts;
}

std::vector<std::string> doubts_after(const CacheExperiment& experiment, const Machine& machine) {
  Index working_set = 0;
  Index cache = 0;
  std::vector<const Samples*> times;
  for (const CacheRow& row : experiment.rows()) {
    times.push_back(&row.wall);
    working_set = std::max(working_set, experiment.working_set(row));
    cache = std::max(cache, row.cache_bytes);
  }
  std::vector<std::string> doubts = spread_doubts(times);
  if (machine.l2_bytes > 0 && working_set <= machine.l2_bytes) {
    doubts.push_back(
        fmt::format("matrices and cache ({}) fit the second-level cache: this measures it, not "
                    "memory",
                    short_size_text(working_set)));
  } else if (machine.l2_bytes > 0 && cache > 0 && cache <= machine.l2_bytes) {
    doubts.push_back(
        fmt::format("the cache ({}) fits the second-level cache: reading it measures that, not "
                    "memory",
                    short_size_text(cache)));
  }
  return doubts;
}

}  // namespace attn
