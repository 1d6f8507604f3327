#include "io/content_digest.h"

#include <fmt/core.h>

#include "io/image_digest.h"
#include "io/xxh3.h"

namespace attn {
namespace {

constexpr std::string_view kFunction = "xxh3-128:";

// The length goes first, so that "ab","c" is not "a","bc".
void add_word(Xxh3& hash, std::string_view word) {
  hash.add(fmt::format("{}:", word.size()));
  hash.add(word);
}

}  // namespace

void ContentDigest::dataset(const std::string& path, std::string_view type, const Shape& shape,
                            std::span<const std::byte> bytes) {
  Xxh3 hash;
  add_word(hash, type);
  for (const Index extent : shape) add_word(hash, fmt::format("{}", extent));
  add_word(hash, "data");
  hash.add(bytes);
  hashes_[{path, ""}] = hash.text();
}

void ContentDigest::attribute(const std::string& object, const std::string& name,
                              std::span<const std::byte> bytes) {
  const bool own = name == kDigestAttribute || name == kImageDigestAttribute;
  if (object == "/" && own) return;
  Xxh3 hash;
  hash.add(bytes);
  hashes_[{object, name}] = hash.text();
}

std::string ContentDigest::text() const {
  Xxh3 all;
  for (const auto& [key, hash] : hashes_) {
    add_word(all, key.first);
    add_word(all, key.second);
    add_word(all, hash);
  }
  return std::string(kFunction) + all.text();
}

std::string ContentDigest::zero() {
  return std::string(kFunction) + std::string(kXxh3Digits, '0');
}

}  // namespace attn
