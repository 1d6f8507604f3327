#include "ops/blas_core.h"

namespace attn {

std::string_view wanted_blas_core(const BlasCoreFacts& facts) {
  if (facts.user_has_chosen || facts.library_core != "Prescott") return {};
  if (facts.avx512) return "SkylakeX";
  if (facts.avx2) return "Haswell";
  return {};
}

bool cpu_has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

bool cpu_has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

}  // namespace attn
