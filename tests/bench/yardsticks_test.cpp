#include "bench/yardsticks.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

// No figure is asserted, only that it is one: a byte in more than a second or more than a
// petabyte a second would be a mistake in units.
void expect_plausible(double rate) {
  EXPECT_GT(rate, 1e6);
  EXPECT_LT(rate, 1e15);
}

TEST(Yardsticks, ReadBandwidth) {
  for (const Index bytes : {Index{1}, Index{4096}, Index{1} << 20, Index{3} << 20}) {
    for (const int threads : {1, 2}) expect_plausible(read_bandwidth(bytes, threads));
  }
}

TEST(Yardsticks, SgemmPeak) {
  expect_plausible(sgemm_peak(1));
  expect_plausible(sgemm_peak(2));
}

}  // namespace
}  // namespace attn
