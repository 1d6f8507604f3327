#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/index.h"

namespace attn {

/// One file inside a zip archive that lies in memory.
struct ZipMember {
  std::string name;                   ///< as the archive has it: escape it before printing
  bool deflated = false;              ///< else stored as it is
  Index size = 0;                     ///< bytes once unpacked
  std::uint32_t crc = 0;              ///< CRC-32 of these
  std::span<const std::byte> packed;  ///< within the archive
};

/// True where the bytes begin as a zip archive does.
bool is_zip(std::span<const std::byte> bytes);

/// The members, in the archive's order (PKWARE APPNOTE 6.3.10: central directory, Zip64). Every
/// size is checked against the bytes that are there: members may not overlap, a stored one is as
/// long as it says, a deflated one no longer than deflate can make of its bytes (1032 times), so
/// that no archive unpacks to more than its own size allows. Throws DataError ("label: ...") for
/// damage, encryption, other ways of compression, and a name that stands there twice.
std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const std::string& label);

/// The first `most` bytes of a member, unpacked (all of it where it has no more). Throws DataError
/// where the stream is damaged or makes another number of bytes than the archive says.
std::vector<std::byte> unpack(const ZipMember& member, Index most, const std::string& label);

/// Throws DataError unless the CRC-32 of a whole member is what the archive says.
void check_crc(const ZipMember& member, std::span<const std::byte> unpacked,
               const std::string& label);

}  // namespace attn
