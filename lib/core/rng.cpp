#include "core/rng.h"

#include <cmath>

#include "core/error.h"

namespace attn {

Philox::Counter Philox::block(Counter x, Key key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * x[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * x[2];
    x = {static_cast<std::uint32_t>(product1 >> 32) ^ x[1] ^ key[0],
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ x[3] ^ key[1],
         static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return x;
}

Rng::Rng(std::uint64_t seed, RandomPurpose purpose, std::uint32_t stream)
    : key_(Philox::key_of(seed)), counter_{0, 0, stream, static_cast<std::uint32_t>(purpose)} {}

void Rng::refill() {
  output_ = Philox::block(counter_, key_);
  left_ = 4;
  if (++counter_[0] == 0) ++counter_[1];
}

std::uint32_t Rng::bits() {
  if (left_ == 0) refill();
  --left_;
  return output_[static_cast<std::size_t>(3 - left_)];
}

double Rng::uniform() {
  const std::uint64_t high = bits() >> 5;
  const std::uint64_t low = bits() >> 6;
  return static_cast<double>(high * 67108864 + low) * 0x1p-53;
}

double Rng::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 6.283185307179586476925 * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

Index Rng::below(Index count) {
  require_shape(count >= 1 && count <= (Index{1} << 32), "Rng::below: count outside 1 .. 2^32");
  const auto range = static_cast<std::uint64_t>(count);
  // Lemire's method: reject the few values that would favour some results.
  const std::uint64_t reject = ((std::uint64_t{1} << 32) % range);
  for (;;) {
    const std::uint64_t product = static_cast<std::uint64_t>(bits()) * range;
    if ((product & 0xffffffffU) >= reject) return static_cast<Index>(product >> 32);
  }
}

}  // namespace attn
