#pragma once

#include <string_view>

namespace attn {

/// What decides which of OpenBLAS's kernels a product should run.
struct BlasCoreFacts {
  std::string_view library_core;  // what the library chose by itself
  bool user_has_chosen = false;   // OPENBLAS_CORETYPE is set
  bool avx512 = false;            // F, BW, DQ and VL
  bool avx2 = false;              // and FMA
};

/// The core to ask OpenBLAS for, empty to leave its choice alone. Releases up to 0.3.24 do not
/// know recent Intel processors and fall back to their SSE3 kernels, "Prescott", five times
/// slower (OpenMathLib/OpenBLAS #4267). A user's choice is never overruled.
std::string_view wanted_blas_core(const BlasCoreFacts& facts);

/// What this processor and its operating system offer.
bool cpu_has_avx512();
bool cpu_has_avx2();

}  // namespace attn
