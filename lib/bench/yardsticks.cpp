#include "bench/yardsticks.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "bench/stopwatch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "ops/gemm.h"

namespace attn {
namespace {

using Word = std::uint64_t;

// Four streams, so that neither the latency of the xor nor one prefetcher is the limit.
[[gnu::always_inline]] inline Word fold(const Word* words, Index count) {
  const Index quarter = count / 4;
  Word a = 0, b = 0, c = 0, d = 0;
  for (Index i = 0; i < quarter; ++i) {
    a ^= words[i];
    b ^= words[quarter + i];
    c ^= words[2 * quarter + i];
    d ^= words[3 * quarter + i];
  }
  for (Index i = 4 * quarter; i < count; ++i) a ^= words[i];
  return a ^ b ^ c ^ d;
}

// The same loop for the widest loads there are: the narrow ones would be the limit inside the
// caches.
#ifdef __x86_64__
[[gnu::target("avx512f")]] Word fold_512(const Word* words, Index count) {
  return fold(words, count);
}
[[gnu::target("avx2")]] Word fold_256(const Word* words, Index count) {
  return fold(words, count);
}
#endif

Word fold_widest(const Word* words, Index count) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return fold_512(words, count);
  if (__builtin_cpu_supports("avx2")) return fold_256(words, count);
#endif
  return fold(words, count);
}

// Amounts of work for one sample: a few milliseconds, long beside the clock and the start of the
// threads.
constexpr Index kSampleBytes = Index{128} << 20;
constexpr int kSamples = 9;

template <class Work>
double best_rate(double amount, const Work& work) {
  work();
  double best = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const Stopwatch watch;
    work();
    const auto nanoseconds =
        static_cast<double>(std::max<std::int64_t>(watch.elapsed().wall_ns, 1));
    best = std::max(best, amount / nanoseconds * 1e9);
  }
  return best;
}

}  // namespace

double read_bandwidth(Index bytes, int threads) {
  const Index parts = std::max(threads, 1);
  const Index words = std::max(bytes / Index{sizeof(Word)} / parts, Index{64}) * parts;
  const Index part = words / parts;
  std::vector<Word> buffer;
  try {
    buffer.assign(static_cast<std::size_t>(words), 0x5a5a5a5a5a5a5a5a);
  } catch (const std::bad_alloc&) {
    throw DataError("no memory for a read sweep of " + size_text(bytes));
  }
  const Index sweep_bytes = words * Index{sizeof(Word)};
  const Index sweeps = std::max(kSampleBytes / sweep_bytes, Index{1});
  std::atomic<Word> sink{0};  // what is read must matter, or the compiler reads nothing
  return best_rate(static_cast<double>(sweep_bytes * sweeps), [&] {
    parallel_for(parts, threads, [&](Index index, int) {
      Word folded = 0;
      for (Index sweep = 0; sweep < sweeps; ++sweep) {
        folded ^= fold_widest(buffer.data() + index * part, part);
      }
      sink ^= folded;
    });
  });
}

double sgemm_peak(int threads) {
  constexpr Index kSide = 384;  // three matrices of 576 KiB
  constexpr Index kProducts = 4;
  const Index parts = std::max(threads, 1);
  constexpr auto kArea = static_cast<std::size_t>(kSide * kSide);
  const std::vector<float> a(kArea, 0.5F);
  const std::vector<float> b(kArea, 0.25F);
  std::vector<float> c(kArea * static_cast<std::size_t>(parts));
  const double operations = 2.0 * static_cast<double>(kSide * kSide * kSide * kProducts * parts);
  return best_rate(operations, [&] {
    parallel_for(parts, threads, [&](Index index, int) {
      const Matrix<float> out(c.data() + index * kSide * kSide, kSide, kSide);
      for (Index product = 0; product < kProducts; ++product) {
        gemm<float>(Transpose::kNo, Transpose::kYes, 1.0F, {a.data(), kSide, kSide},
                    {b.data(), kSide, kSide}, 0.0F, out);
      }
    });
  });
}

}  // namespace attn
