#include "io/image_digest.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "io/xxh3.h"

namespace attn {
namespace {

constexpr std::string_view kMarker = "xxh3-128-image:";
const std::string kZeros(kXxh3Digits, '0');

std::string_view start_of(std::span<const std::byte> image) {
  constexpr std::size_t kNear = std::size_t{1} << 20;
  return as_text(image.first(std::min(image.size(), kNear)));
}

// Where the digits stand.
std::optional<std::size_t> find_digits(std::span<const std::byte> image) {
  const std::size_t at = start_of(image).find(kMarker);
  if (at == std::string_view::npos || image.size() - at < kMarker.size() + kXxh3Digits) {
    return std::nullopt;
  }
  return at + kMarker.size();
}

std::string digest_of(std::span<const std::byte> image, std::size_t digits_at) {
  Xxh3 hash;
  hash.add(image.first(digits_at));
  hash.add(kZeros);
  hash.add(image.subspan(digits_at + kXxh3Digits));
  return hash.text();
}

}  // namespace

std::string zero_image_digest() {
  return std::string(kMarker) + kZeros;
}

void sign_image(std::span<std::byte> image) {
  const auto at = find_digits(image);
  require_shape(at.has_value(), "sign_image: no zero digest near the start of the file");
  const std::string digest = digest_of(image, *at);
  std::memcpy(image.data() + *at, digest.data(), digest.size());
}

ImageDigest check_image_digest(std::span<const std::byte> image) {
  const auto at = find_digits(image);
  if (!at) return ImageDigest::kAbsent;
  const std::string digest = digest_of(image, *at);
  const bool matches = std::memcmp(image.data() + *at, digest.data(), digest.size()) == 0;
  return matches ? ImageDigest::kMatches : ImageDigest::kDiffers;
}

bool stands_near_start(std::span<const std::byte> image, std::string_view text) {
  return start_of(image).find(text) != std::string_view::npos;
}

}  // namespace attn
