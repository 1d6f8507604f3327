#include "io/content_digest.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <memory>

namespace attn {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  /// The length goes first, so that "ab","c" is not "a","bc".
  void add(std::string_view text) {
    const std::string length = fmt::format("{}:", text.size());
    XXH3_128bits_update(state_.get(), length.data(), length.size());
    XXH3_128bits_update(state_.get(), text.data(), text.size());
  }
  std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace

void ContentDigest::dataset(const std::string& path, std::string_view type, const Shape& shape,
                            std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(type);
  for (const Index extent : shape) hash.add(fmt::format("{}", extent));
  hash.add("data");
  hash.add(bytes);
  hashes_[{path, ""}] = hash.text();
}

void ContentDigest::attribute(const std::string& object, const std::string& name,
                              std::span<const std::byte> bytes) {
  if (object == "/" && name == kDigestAttribute) return;
  Hash hash;
  hash.add(bytes);
  hashes_[{object, name}] = hash.text();
}

std::string ContentDigest::text() const {
  Hash all;
  for (const auto& [key, hash] : hashes_) {
    all.add(key.first);
    all.add(key.second);
    all.add(hash);
  }
  return "xxh3-128:" + all.text();
}

}  // namespace attn
