#include "io/hdf5_image.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "io/core_driver.h"
#include "io/hdf5_errors.h"
#include "io/hdf5_library.h"

namespace attn {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

std::optional<std::size_t> find_signature(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at = at == 0 ? 512 : at * 2) {
    if (text.substr(at).starts_with(kSignature)) return at;
  }
  return std::nullopt;
}

std::uint64_t little_endian(std::string_view text, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(text[at + i]);
  }
  return value;
}

// "End of file address" of the superblock (HDF5 file format specification, II.A), counted from the
// superblock itself. Nothing where the library will complain about it anyway.
std::optional<std::uint64_t> declared_size(std::string_view super) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(super[i]); };
  if (super.size() < 16) return std::nullopt;
  const unsigned version = byte(8);
  if (version > 3) return std::nullopt;
  const std::size_t width = version < 2 ? byte(13) : byte(9);
  if (width != 4 && width != 8) return std::nullopt;
  const std::size_t addresses = version == 0 ? 24 : version == 1 ? 28 : 12;
  const std::size_t base_at = addresses;
  const std::size_t end_at = addresses + 2 * width;
  if (super.size() < end_at + width) return std::nullopt;
  const std::uint64_t base = little_endian(super, base_at, width);
  const std::uint64_t end = little_endian(super, end_at, width);
  return end < base ? end : end - base;
}

}  // namespace

bool has_signature(std::span<const std::byte> bytes) {
  return find_signature(as_text(bytes)).has_value();
}

void check_image(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text = as_text(bytes);
  if (text.size() < kSignature.size() && kSignature.starts_with(text)) {
    throw DataError(fmt::format("{}: truncated HDF5 file: {} bytes", name, text.size()));
  }
  const auto start = find_signature(text);
  if (!start) {
    throw DataError(fmt::format("{}: not an HDF5 file (starts with \"{}\")", name,
                                escaped(text.substr(0, 16))));
  }
  const std::string_view image = text.substr(*start);
  constexpr std::size_t kSmallestFile = 96;  // a version 0 superblock with its root entry
  const auto size = declared_size(image);
  if (!size) {
    if (image.size() < kSmallestFile) {
      throw DataError(fmt::format("{}: truncated HDF5 file: {} bytes", name, text.size()));
    }
    return;
  }
  if (*size > image.size()) {
    throw DataError(
        fmt::format("{}: truncated HDF5 file: {} of {} bytes", name, text.size(), *size + *start));
  }
  if (image.substr(static_cast<std::size_t>(*size)).find(kSignature) != std::string_view::npos) {
    throw DataError(
        fmt::format("{}: a second HDF5 image follows the first; pipe one file at a time", name));
  }
}

namespace {

// The image callbacks of the core driver, which hand out our bytes themselves instead of copies.
// The library asks for a copy by allocating, copying and freeing; udata is a span of ours.
void* give_bytes(size_t /*size*/, H5FD_file_image_op_t /*op*/, void* udata) {
  // The core driver takes a mutable pointer; a file that is opened read-only is never written.
  return const_cast<std::byte*>(static_cast<std::span<const std::byte>*>(udata)->data());
}
void* copy_nothing(void* to, const void* from, size_t size, H5FD_file_image_op_t /*op*/,
                   void* /*udata*/) {
  return to == from ? to : std::memcpy(to, from, size);
}
void* refuse_resize(void* /*data*/, size_t /*size*/, H5FD_file_image_op_t /*op*/, void* /*udata*/) {
  return nullptr;
}
herr_t free_nothing(void* /*data*/, H5FD_file_image_op_t /*op*/, void* /*udata*/) {
  return 0;
}

}  // namespace

FileId open_image(std::span<const std::byte> bytes, const std::string& name) {
  std::span<const std::byte> lent = bytes;  // free_nothing needs no udata, so it may end here
  const PropertyId access = core_driver_access(
      {give_bytes, copy_nothing, refuse_resize, free_nothing, nullptr, nullptr, &lent});
  H5Pset_file_image(access.get(), const_cast<std::byte*>(bytes.data()), bytes.size());
  FileId file(H5Fopen(image_name().c_str(), H5F_ACC_RDONLY, access.get()));
  if (!file.valid()) fail_damaged(name);
  return file;
}

}  // namespace attn
