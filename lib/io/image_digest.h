#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// The root attribute by which a file of ours proves that not one of its bytes has changed:
/// XXH3-128 over the whole file, with zeros where the digest itself stands. It is found and checked
/// before the HDF5 library sees the file, so that damage never reaches a parser that would trip
/// over it. A file that was repacked has other bytes but the same content: content_digest.h.
inline constexpr const char* kImageDigestAttribute = "image_digest";

/// The attribute's value before the digest is known; as long as the value will be.
std::string zero_image_digest();

/// Puts the digest in the place of the zeros.
void sign_image(std::span<std::byte> image);

enum class ImageDigest { kAbsent, kMatches, kDiffers };
ImageDigest check_image_digest(std::span<const std::byte> image);

/// True if the text stands near the start of the file, where our writer puts its own attributes.
/// Asking the library instead would have it decode the attributes of every stranger's file.
bool stands_near_start(std::span<const std::byte> image, std::string_view text);

}  // namespace attn
