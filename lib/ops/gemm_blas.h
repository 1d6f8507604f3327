#pragma once

#include <cblas.h>

#include <string>

namespace attn {

/// The routines of OpenBLAS that gemm calls.
struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&cblas_sgemv) sgemv = nullptr;
  decltype(&cblas_dgemv) dgemv = nullptr;
  std::string description;  // "OpenBLAS 0.3.21 SkylakeX"
};

/// The library, loaded when it is first asked for and not when the program starts: loading takes
/// milliseconds, and a library that starts up by itself spins threads of its own. Always on one
/// thread; on the kernels that fit the processor (blas_core.h). Throws DataError where it cannot
/// be loaded, or a limit on address space leaves a thread no buffer. Safe from several threads.
const Blas& blas();

}  // namespace attn
