#include "io/npz.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

void number(std::string& text, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

}  // namespace

// PKWARE APPNOTE 6.3.10, 4.3.7 and 4.3.12.
void NpzWriter::add(std::string_view key, std::span<const std::byte> npy) {
  constexpr std::size_t kMostName = 65000;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::string name = std::string(key) + ".npy";
  require_shape(name.size() <= kMostName, "npz: a key is too long");
  require_shape(members_.size() + npy.size() + directory_.size() + 2 * kMostName < kMost,
                "npz: the archive would reach 4 GiB");
  const std::size_t at = members_.size();
  // Version 2.0; a name in UTF-8 (bit 11); stored; midnight of 1980-01-01; CRC-32 and sizes.
  std::string about;
  number(about, 20, 2);
  number(about, 1U << 11U, 2);
  number(about, 0, 2);
  number(about, 0, 2);
  number(about, 0x21, 2);
  number(about, crc32_z(0, reinterpret_cast<const Bytef*>(npy.data()), npy.size()), 4);
  number(about, npy.size(), 4);
  number(about, npy.size(), 4);
  number(about, name.size(), 2);
  number(about, 0, 2);
  number(members_, 0x04034b50, 4);
  members_ += about;
  members_ += name;
  members_ += as_text(npy);
  number(directory_, 0x02014b50, 4);
  number(directory_, 20, 2);
  directory_ += about;
  // No comment, first disk, no attributes.
  number(directory_, 0, 2);
  number(directory_, 0, 2);
  number(directory_, 0, 2);
  number(directory_, 0, 4);
  number(directory_, at, 4);
  directory_ += name;
  ++count_;
}

std::vector<std::byte> NpzWriter::finish() {
  require_shape(count_ < 0xffff, "npz: more arrays than zip counts");
  std::string text = std::exchange(members_, "");
  const std::size_t at = text.size();
  const std::string directory = std::exchange(directory_, "");
  text += directory;
  number(text, 0x06054b50, 4);
  number(text, 0, 4);
  number(text, count_, 2);
  number(text, count_, 2);
  number(text, directory.size(), 4);
  number(text, at, 4);
  number(text, 0, 2);
  count_ = 0;
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace attn
