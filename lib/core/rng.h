#pragma once

#include <array>
#include <cstdint>

#include "core/index.h"

namespace attn {

/// What a stream of random numbers is for. Two purposes never share numbers.
enum class RandomPurpose : std::uint32_t {
  kInitialisation = 1,
  kTrainingData = 2,
  kEvaluationData = 3,
  kSampling = 4,
  kDropout = 5,
  kExample = 6,
  kBenchmark = 7,
};

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four random
/// words as a function of a counter and a key.
struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  static constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

  static Counter block(Counter counter, Key key);
  static Key key_of(std::uint64_t seed) {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  }
};

/// Counter-based random numbers, by Philox: the n-th number depends on (seed, purpose, stream, n)
/// and on nothing else, so threads, chunks and resuming cannot change it. `stream` is a training
/// step, a parameter, a sample: whatever must be independent of its neighbours. Same numbers on
/// every machine.
class Rng {
 public:
  Rng(std::uint64_t seed, RandomPurpose purpose, std::uint32_t stream = 0);

  /// 32 random bits.
  std::uint32_t bits();
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal, by Box and Muller.
  double normal();
  /// Uniform over 0 .. count - 1, without bias. count is at least 1 and at most 2^32.
  Index below(Index count);

 private:
  void refill();

  Philox::Key key_;
  Philox::Counter counter_;
  Philox::Counter output_{};
  int left_ = 0;
  double spare_normal_ = 0.0;
  bool has_spare_normal_ = false;
};

}  // namespace attn
