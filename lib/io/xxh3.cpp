#include "io/xxh3.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <new>

namespace attn {

Xxh3::Xxh3() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_);
}

Xxh3::~Xxh3() {
  XXH3_freeState(state_);
}

void Xxh3::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_, bytes.data(), bytes.size());
}

std::string Xxh3::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace attn
