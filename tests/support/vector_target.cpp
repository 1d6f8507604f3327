// A test binary with this file in it can run all its tests on one set of vector instructions:
//
//   ATTNTOOLS_VECTORS=SSE4 build/release/tests/nn_test
//
// takes that of Highway's targets, and "scalar" the one without vectors, for the best that the
// processor has. Where there is no such target here, the binary says so and exits with 77.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace attn {
namespace {

bool is_named(std::int64_t target, std::string_view name) {
  const bool scalar = target == HWY_SCALAR || target == HWY_EMU128;
  return name == hwy::TargetName(target) || (scalar && name == "scalar");
}

class VectorTarget : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* name = std::getenv("ATTNTOOLS_VECTORS");
    if (name == nullptr) return;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      if (!is_named(target, name)) continue;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      fmt::print("kernels run on {}\n", hwy::TargetName(target));
      return;
    }
    fmt::print("skipped: no kernel here was compiled for {}, or the processor lacks it\n", name);
    std::exit(77);
  }
};

[[maybe_unused]] const auto* const environment =
    ::testing::AddGlobalTestEnvironment(new VectorTarget);

}  // namespace
}  // namespace attn
