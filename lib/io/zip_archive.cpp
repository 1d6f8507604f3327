#include "io/zip_archive.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::uint64_t kIn64 = 0xffffffff;  // the Zip64 field has the number
constexpr std::size_t kMostMembers = 100000;

// Numbers of an archive at offsets that come from the archive.
class Bytes {
 public:
  Bytes(std::span<const std::byte> all, const std::string& label) : all_(all), label_(label) {}

  std::uint64_t size() const { return all_.size(); }
  bool has(std::uint64_t at, std::uint64_t count) const {
    return at <= all_.size() && count <= all_.size() - at;
  }
  void want(std::uint64_t at, std::uint64_t count) const {
    if (!has(at, count)) damaged("it is cut off or damaged");
  }
  std::uint64_t number(std::uint64_t at, std::size_t width) const {
    want(at, width);
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) {
      value = value << 8U | std::to_integer<std::uint64_t>(all_[at + i]);
    }
    return value;
  }
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t count) const {
    want(at, count);
    return all_.subspan(at, count);
  }
  [[noreturn]] void damaged(const std::string& why) const {
    throw DataError(fmt::format("{}: as a zip archive {}", label_, why));
  }

 private:
  std::span<const std::byte> all_;
  const std::string& label_;
};

struct Directory {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::uint64_t members = 0;
};

// The end record stands before a comment of at most 65535 bytes.
std::uint64_t end_record(const Bytes& bytes) {
  if (bytes.size() < kEndBytes) bytes.damaged("it is cut off: its directory is missing");
  const std::uint64_t last = bytes.size() - kEndBytes;
  const std::uint64_t first = last > 65535 ? last - 65535 : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (bytes.number(at, 4) == kEnd && bytes.number(at + 20, 2) == bytes.size() - at - kEndBytes) {
      return at;
    }
  }
  bytes.damaged("it is cut off: its directory is missing");
}

Directory find_directory(const Bytes& bytes) {
  const std::uint64_t end = end_record(bytes);
  Directory found{bytes.number(end + 16, 4), bytes.number(end + 12, 4), bytes.number(end + 10, 2)};
  const bool wide = found.at == kIn64 || found.bytes == kIn64 || found.members == 0xffff;
  if (wide && end >= kLocatorBytes && bytes.number(end - kLocatorBytes, 4) == kEnd64Locator) {
    const std::uint64_t record = bytes.number(end - kLocatorBytes + 8, 8);
    bytes.want(record, kEnd64Bytes);
    if (bytes.number(record, 4) != kEnd64) bytes.damaged("its Zip64 directory is missing");
    found = {bytes.number(record + 48, 8), bytes.number(record + 40, 8),
             bytes.number(record + 32, 8)};
  }
  if (!bytes.has(found.at, found.bytes) || found.at + found.bytes > end) {
    bytes.damaged("its directory lies outside of the file");
  }
  if (found.members > kMostMembers || found.members > found.bytes / kCentralBytes) {
    bytes.damaged("its directory names more files than it can hold");
  }
  return found;
}

// A member's sizes and place, of which the extra field (id 1) has those that need 64 bits.
struct Extents {
  std::uint64_t packed, size, local;
};

Extents extents_of(const Bytes& bytes, std::uint64_t at, std::uint64_t extra,
                   std::uint64_t extra_bytes) {
  Extents found{bytes.number(at + 20, 4), bytes.number(at + 24, 4), bytes.number(at + 42, 4)};
  const std::uint64_t end = extra + extra_bytes;
  while (extra + 4 <= end) {
    const std::uint64_t id = bytes.number(extra, 2);
    std::uint64_t field = extra + 4;
    extra = field + bytes.number(extra + 2, 2);
    if (id != 1) continue;
    for (std::uint64_t* value : {&found.size, &found.packed, &found.local}) {
      if (*value != kIn64) continue;
      if (field + 8 > std::min(extra, end)) bytes.damaged("a Zip64 field is cut off");
      *value = bytes.number(field, 8);
      field += 8;
    }
  }
  return found;
}

class Inflater {
 public:
  explicit Inflater(const std::string& label) {
    // Raw deflate: zip has no zlib header.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw DataError(label + ": cannot inflate");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
};

// zlib counts in 32 bits.
uInt step(std::size_t left) {
  return static_cast<uInt>(std::min<std::size_t>(left, std::size_t{1} << 30));
}

}  // namespace

bool is_zip(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
}

std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const std::string& label) {
  const Bytes bytes(archive, label);
  const Directory directory = find_directory(bytes);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  std::uint64_t at = directory.at;
  std::uint64_t packed_bytes = 0;
  for (std::uint64_t n = 0; n < directory.members; ++n) {
    if (bytes.number(at, 4) != kCentralHeader) bytes.damaged("its directory is damaged");
    const std::uint64_t name_bytes = bytes.number(at + 28, 2);
    const std::uint64_t extra_bytes = bytes.number(at + 30, 2);
    const std::uint64_t comment_bytes = bytes.number(at + 32, 2);
    ZipMember member;
    member.name = as_text(bytes.part(at + kCentralBytes, name_bytes));
    const std::string name = escaped(member.name, 60);
    if ((bytes.number(at + 8, 2) & 1U) != 0) {
      throw DataError(fmt::format("{}: {} is encrypted", label, name));
    }
    const std::uint64_t method = bytes.number(at + 10, 2);
    if (method != 0 && method != Z_DEFLATED) {
      throw DataError(fmt::format("{}: {} is compressed by method {}, want stored or deflated",
                                  label, name, method));
    }
    member.deflated = method == Z_DEFLATED;
    member.crc = static_cast<std::uint32_t>(bytes.number(at + 16, 4));
    const Extents extents = extents_of(bytes, at, at + kCentralBytes + name_bytes, extra_bytes);
    constexpr std::uint64_t kMostRatio = 1032;
    const bool possible = extents.packed <= bytes.size() &&
                          (member.deflated ? extents.size <= kMostRatio * (extents.packed + 1)
                                           : extents.size == extents.packed);
    if (!possible) {
      throw DataError(
          fmt::format("{}: {} claims {} bytes of {}", label, name, extents.size, extents.packed));
    }
    member.size = static_cast<Index>(extents.size);
    if (bytes.number(extents.local, 4) != kLocalHeader) {
      throw DataError(fmt::format("{}: {} is not where the directory says", label, name));
    }
    const std::uint64_t data = extents.local + kLocalBytes + bytes.number(extents.local + 26, 2) +
                               bytes.number(extents.local + 28, 2);
    member.packed = bytes.part(data, extents.packed);
    // Members that share bytes are how a small archive unpacks to petabytes.
    packed_bytes += extents.packed;
    if (packed_bytes > bytes.size()) bytes.damaged("its files overlap");
    if (!names.insert(member.name).second) {
      throw DataError(fmt::format("{}: {} stands in it twice", label, name));
    }
    members.push_back(std::move(member));
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return members;
}

std::vector<std::byte> unpack(const ZipMember& member, Index most, const std::string& label) {
  const auto wanted = static_cast<std::size_t>(std::min(most, member.size));
  const auto whole = static_cast<Index>(wanted) == member.size;
  if (!member.deflated) {
    return {member.packed.begin(), member.packed.begin() + static_cast<std::ptrdiff_t>(wanted)};
  }
  std::vector<std::byte> plain(wanted);
  Inflater inflater(label);
  z_stream& stream = inflater.stream();
  std::size_t taken = 0;
  std::size_t made = 0;
  // One byte more than wanted, so that a stream which goes on is seen.
  std::byte beyond{};
  int result = Z_OK;
  while (result == Z_OK && made <= wanted) {
    const bool over = made == wanted;
    if (over && !whole) return plain;
    const uInt in = step(member.packed.size() - taken);
    const uInt out = over ? 1 : step(wanted - made);
    // zlib does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.packed.data() + taken));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(over ? &beyond : plain.data() + made);
    stream.avail_out = out;
    result = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  if (result == Z_STREAM_END && made == wanted) return plain;
  if (!whole && made == wanted) return plain;
  throw DataError(made > wanted
                      ? fmt::format("{}: unpacks to more than its {} bytes", label, wanted)
                      : fmt::format("{}: is damaged: it does not unpack", label));
}

void check_crc(const ZipMember& member, std::span<const std::byte> unpacked,
               const std::string& label) {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(unpacked.data()), unpacked.size());
  if (crc != member.crc) {
    throw DataError(label + ": is damaged: its CRC-32 does not match");
  }
}

}  // namespace attn
