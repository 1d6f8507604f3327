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

// Work of one sample: long beside the clock and the start of the threads, short beside the time for
// which a busy machine lets all of them run at once. One of many samples then has it to itself.
constexpr Index kSampleBytes = Index{32} << 20;
constexpr int kFewestSamples = 9;
constexpr std::int64_t kBudgetNs = 50'000'000;

template <class Work>
double best_rate(double amount, const Work& work) {
  work(0);
  double best = 0;
  const Stopwatch all;
  for (Index sample = 1; sample <= kFewestSamples || all.wall_ns() < kBudgetNs; ++sample) {
    const Stopwatch watch;
    work(sample);
    const auto nanoseconds = static_cast<double>(std::max<std::int64_t>(watch.wall_ns(), 1));
    best = std::max(best, amount / nanoseconds * 1e9);
  }
  return best;
}

// What so many threads get, each sweeping its part.
double sweep_rate(const std::vector<Word>& buffer, int threads) {
  const Index parts = threads;
  const Index part = static_cast<Index>(buffer.size()) / parts;
  // Of a large buffer each sample reads the next piece, which was last read a whole sweep ago.
  const Index pieces = std::clamp(parts * part * Index{sizeof(Word)} / kSampleBytes, Index{1},
                                  std::max(part / 64, Index{1}));
  const Index piece = part / pieces;
  const Index sample_bytes = piece * parts * Index{sizeof(Word)};
  const Index sweeps = std::max(kSampleBytes / sample_bytes, Index{1});
  std::atomic<Word> sink{0};  // what is read must matter, or the compiler reads nothing
  return best_rate(static_cast<double>(sample_bytes * sweeps), [&](Index sample) {
    parallel_for(parts, threads, [&](Index index, int) {
      const Word* from = buffer.data() + index * part + sample % pieces * piece;
      Word folded = 0;
      for (Index sweep = 0; sweep < sweeps; ++sweep) folded ^= fold_widest(from, piece);
      sink ^= folded;
    });
  });
}

// Square products that stay in the cache, one a thread.
double product_rate(int threads) {
  constexpr Index kSide = 384;  // three matrices of 576 KiB
  constexpr auto kArea = static_cast<std::size_t>(kSide * kSide);
  const std::vector<float> a(kArea, 0.5F);
  const std::vector<float> b(kArea, 0.25F);
  std::vector<float> c(kArea * static_cast<std::size_t>(threads));
  const double operations = 2.0 * static_cast<double>(kSide * kSide * kSide * threads);
  return best_rate(operations, [&](Index) {
    parallel_for(threads, threads, [&](Index index, int) {
      const Matrix<float> out(c.data() + index * kSide * kSide, kSide, kSide);
      gemm<float>(Transpose::kNo, Transpose::kYes, 1.0F, {a.data(), kSide, kSide},
                  {b.data(), kSide, kSide}, 0.0F, out);
    });
  });
}

// All threads together are slower than one where others keep the cores busy.
template <class Rate>
double best_of_threads(int threads, const Rate& rate) {
  const double alone = rate(1);
  return threads <= 1 ? alone : std::max(alone, rate(threads));
}

}  // namespace

double read_bandwidth(Index bytes, int threads) {
  std::vector<Word> buffer;
  try {
    const Index words = std::max(bytes / Index{sizeof(Word)}, Index{64} * std::max(threads, 1));
    buffer.assign(static_cast<std::size_t>(words), 0x5a5a5a5a5a5a5a5a);
  } catch (const std::bad_alloc&) {
    throw DataError("no memory for a read sweep of " + size_text(bytes));
  }
  return best_of_threads(threads, [&](int count) { return sweep_rate(buffer, count); });
}

double sgemm_peak(int threads) {
  return best_of_threads(threads, product_rate);
}

}  // namespace attn
