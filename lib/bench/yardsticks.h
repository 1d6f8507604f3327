#pragma once

#include "core/index.h"

namespace attn {

/// Bytes a second at which `threads` threads, each sweeping its own part, or one alone, read a
/// buffer of `bytes` again and again: what the memory can give a working set of that size, wherever
/// it lives (the tutorial's cache of 2 MiB lives in the second level; measured against memory it
/// would show 300 percent). The best of several sweeps; the words are only combined by xor, since
/// adding floats would measure the adder. Takes about a tenth of a second. Throws DataError where
/// the memory is not to be had.
double read_bandwidth(Index bytes, int threads);

/// Floating-point operations a second (a multiply and an add count two) of square products of
/// float that stay in the cache, one product a thread at a time, on `threads` threads or one, the
/// best of several: what gemm can reach at all here.
double sgemm_peak(int threads);

}  // namespace attn
