#include "bench/doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bench/layer_subject.h"

namespace attn {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Machine quiet_machine() {
  Machine machine;
  machine.cores = 4;
  machine.load = 0.5;
  return machine;
}

TEST(Doubts, NoneOnAQuietMachine) {
  EXPECT_THAT(doubts_before(quiet_machine(), "Release", 4), IsEmpty());
}

TEST(Doubts, DebugBuildLoadAndThreads) {
  Machine machine = quiet_machine();
  EXPECT_THAT(doubts_before(machine, "Debug", 4), Contains(HasSubstr("Debug build")));
  EXPECT_THAT(doubts_before(machine, "", 4), Contains(HasSubstr("plain build")));
  EXPECT_THAT(doubts_before(machine, "Release", 5), Contains("5 threads on 4 cores"));
  machine.load = 4.1;
  EXPECT_THAT(doubts_before(machine, "Release", 4),
              Contains("the machine is busy: load average 4.1 on 4 cores"));
  machine.load = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(doubts_before(machine, "Release", 4), IsEmpty()) << "an unknown load is no load";
}

TEST(Doubts, SmallWorkingSetAndShortRuns) {
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  subjects.push_back(std::make_unique<LayerSubject>(LayerShape{8, 2, 2, 4}, 2, 1, 0));
  CacheExperiment experiment(std::move(subjects), {{0, 2}}, {CacheKind::kContiguous});
  experiment.verify();
  experiment.measure({.warmup = 0, .repeats = 1, .seed = 0}, {});
  // 4 matrices of 8 x 8 with biases of 8 and two tokens' keys and values, in f32:
  // 4 * (4 * 72 + 2 * 2 * 8) = 1280 bytes.
  Machine machine = quiet_machine();
  machine.l2_bytes = 1280;
  EXPECT_THAT(doubts_after(experiment, machine), Contains(HasSubstr("matrices and cache")));
  machine.l2_bytes = 1279;
  EXPECT_THAT(doubts_after(experiment, machine), Not(Contains(HasSubstr("matrices and cache"))));
  // Keys and values alone: 2 tokens, 2 heads of 4, 64 bytes each.
  machine.l2_bytes = 128;
  EXPECT_THAT(doubts_after(experiment, machine), Contains(HasSubstr("the cache (128 bytes)")));
  machine.l2_bytes = 127;
  EXPECT_THAT(doubts_after(experiment, machine), Not(Contains(HasSubstr("second-level cache"))));
  // One sample has no spread.
  EXPECT_THAT(doubts_after(experiment, machine), Not(Contains(HasSubstr("noisy"))));
}

}  // namespace
}  // namespace attn
