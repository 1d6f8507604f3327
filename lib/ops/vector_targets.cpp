// Which of Highway's targets this processor runs: the three functions that a dispatch calls. The
// shared library that has them (Highway 1.0, nanobenchmark.cc) times the processor's clock as soon
// as it is loaded, which was 3 of the 5.5 ms that a program took to print its version. Defined here
// they are found first, and --as-needed leaves the library out.

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstdint>

#if HWY_ARCH_ARM_A64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hwy {
namespace {

// Each target as highway's set_macros-inl.h asks the compiler for it. Who has AVX2, BMI2 and FMA
// has F16C, for which not every compiler has a question.
std::int64_t vector_targets() {
  std::int64_t targets = 0;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw");
  targets |= ssse3 ? HWY_SSSE3 : 0;
  targets |= sse4 ? HWY_SSE4 : 0;
  targets |= avx2 ? HWY_AVX2 : 0;
  targets |= avx3 ? HWY_AVX3 : 0;
#elif HWY_ARCH_ARM_A64
  constexpr unsigned long kNeonAndAes = HWCAP_ASIMD | HWCAP_AES;
  targets |= (getauxval(AT_HWCAP) & kNeonAndAes) == kNeonAndAes ? HWY_NEON : 0;
#endif
  return targets;
}

std::atomic<std::int64_t>& wanted_by_tests() {
  static std::atomic<std::int64_t> wanted{0};
  return wanted;
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t supported = vector_targets() | HWY_EMU128 | HWY_SCALAR;
  const std::int64_t wanted = wanted_by_tests();
  return wanted == 0 ? supported : wanted;
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  wanted_by_tests() = targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
