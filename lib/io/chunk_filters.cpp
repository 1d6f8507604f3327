#include "io/chunk_filters.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_errors.h"

namespace attn {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kChecksumBytes = 4;

std::string_view filter_name(H5Z_filter_t id) {
  constexpr std::array<std::pair<H5Z_filter_t, std::string_view>, 13> kNames = {{
      {1, "deflate"},
      {2, "shuffle"},
      {3, "fletcher32"},
      {4, "szip"},
      {5, "nbit"},
      {6, "scaleoffset"},
      {32000, "lzf"},
      {32001, "blosc"},
      {32004, "lz4"},
      {32008, "bitshuffle"},
      {32013, "zfp"},
      {32015, "zstd"},
      {32026, "blosc2"},
  }};
  for (const auto& [known, name] : kNames) {
    if (known == id) return name;
  }
  return "";
}

// Inflates to exactly `size` bytes; the stream must end there.
std::optional<std::string> inflate_to(Bytes& data, std::size_t size) {
  // zlib counts in 32 bits; chunks of HDF5 do too.
  if (data.size() > UINT_MAX || size > UINT_MAX) return "a chunk is larger than 4 GiB";
  Bytes plain(size);
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return "inflate does not start";
  stream.next_in = reinterpret_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  // zlib wants a place to write to even where nothing is to come.
  std::byte nowhere{};
  stream.next_out = reinterpret_cast<Bytef*>(size == 0 ? &nowhere : plain.data());
  stream.avail_out = static_cast<uInt>(size);
  const int result = inflate(&stream, Z_FINISH);
  const std::size_t made = stream.total_out;
  inflateEnd(&stream);
  if (result == Z_STREAM_END) {
    if (made != size) return fmt::format("a chunk decodes to {} bytes, not {}", made, size);
    data = std::move(plain);
    return std::nullopt;
  }
  if (result == Z_BUF_ERROR && made == size) {
    return fmt::format("a chunk decodes to more than {} bytes", size);
  }
  return "a chunk is damaged: inflate fails";
}

// Byte b of every element stands together; elements that do not fill a group of
// element_bytes stay at the end as they are.
void unshuffle(Bytes& data, std::size_t element_bytes) {
  const std::size_t elements = data.size() / element_bytes;
  if (element_bytes <= 1 || elements <= 1) return;
  Bytes plain = data;
  for (std::size_t b = 0; b < element_bytes; ++b) {
    const std::byte* from = data.data() + b * elements;
    for (std::size_t i = 0; i < elements; ++i) plain[i * element_bytes + b] = from[i];
  }
  data = std::move(plain);
}

// Fletcher's checksum over big-endian 16-bit words with sums modulo 65535 (Fletcher 1982); an odd
// last byte counts as the upper half of a word.
std::uint32_t fletcher32(std::span<const std::byte> data) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < data.size(); i += 2) {
    std::uint64_t word = std::to_integer<std::uint64_t>(data[i]) << 8;
    if (i + 1 < data.size()) word |= std::to_integer<std::uint64_t>(data[i + 1]);
    low = (low + word) % 65535;
    high = (high + low) % 65535;
  }
  return static_cast<std::uint32_t>((high << 16) | low);
}

// 0 and 65535 are the same number modulo 65535, and the library's way of folding may store either.
std::uint32_t reduced(std::uint32_t sum) {
  return ((sum >> 16) % 65535) << 16 | ((sum & 0xffffU) % 65535);
}

std::optional<std::string> check_fletcher32(Bytes& data) {
  if (data.size() < kChecksumBytes) return "a chunk is shorter than its checksum";
  const std::size_t size = data.size() - kChecksumBytes;
  std::uint32_t stored = 0;
  for (std::size_t i = kChecksumBytes; i-- > 0;) {
    stored = (stored << 8) | std::to_integer<std::uint32_t>(data[size + i]);
  }
  data.resize(size);
  if (reduced(stored) == reduced(fletcher32(data))) return std::nullopt;
  return "a chunk is damaged: its Fletcher-32 checksum does not match";
}

}  // namespace

std::vector<ChunkFilter> chunk_filters(hid_t creation, const std::string& label) {
  std::vector<ChunkFilter> filters;
  const int count = H5Pget_nfilters(creation);
  if (count < 0) fail_damaged(label);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 8> values = {};
    std::size_t value_count = values.size();
    std::array<char, 64> own_name = {};
    const H5Z_filter_t id =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &value_count, values.data(),
                       own_name.size() - 1, own_name.data(), nullptr);
    if (id < 0) fail_damaged(label);
    ChunkFilter filter = {};
    if (id == H5Z_FILTER_DEFLATE) {
      filter.kind = ChunkFilter::Kind::kDeflate;
    } else if (id == H5Z_FILTER_SHUFFLE) {
      filter.kind = ChunkFilter::Kind::kShuffle;
      filter.element_bytes = value_count > 0 ? values[0] : 1;
      if (filter.element_bytes == 0) throw DataError(label + ": a shuffle filter over 0 bytes");
    } else if (id == H5Z_FILTER_FLETCHER32) {
      filter.kind = ChunkFilter::Kind::kFletcher32;
    } else {
      const std::string_view known = filter_name(id);
      const std::string name = known.empty() ? escaped(own_name.data()) : std::string(known);
      throw DataError(fmt::format("{} is compressed with HDF5 filter {}{}, which is not supported",
                                  label, id, name.empty() ? "" : fmt::format(" ({})", name)),
                      {"rewrite it with: h5repack -f NONE OLD.h5 NEW.h5"});
    }
    for (const ChunkFilter& earlier : filters) {
      if (earlier.kind == filter.kind) {
        throw DataError(
            fmt::format("{} uses the filter {} twice; refused", label, filter_name(id)));
      }
    }
    filters.push_back(filter);
  }
  return filters;
}

DecodedChunk decode_chunk(std::vector<std::byte> stored, std::span<const ChunkFilter> filters,
                          unsigned skipped, std::size_t size) {
  const auto applied = [&](std::size_t i) { return ((skipped >> i) & 1U) == 0; };
  // What each filter was given by the writer: only a checksum changes a size that is known.
  std::vector<std::size_t> given(filters.size());
  std::size_t known = size;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    given[i] = known;
    if (applied(i) && filters[i].kind == ChunkFilter::Kind::kFletcher32) known += kChecksumBytes;
  }
  DecodedChunk chunk = {std::move(stored), std::nullopt};
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (!applied(i)) continue;
    switch (filters[i].kind) {
      case ChunkFilter::Kind::kDeflate:
        chunk.complaint = inflate_to(chunk.bytes, given[i]);
        break;
      case ChunkFilter::Kind::kShuffle:
        unshuffle(chunk.bytes, filters[i].element_bytes);
        break;
      case ChunkFilter::Kind::kFletcher32:
        chunk.complaint = check_fletcher32(chunk.bytes);
        break;
    }
    if (chunk.complaint) return chunk;
  }
  if (chunk.bytes.size() != size) {
    chunk.complaint = fmt::format("a chunk decodes to {} bytes, not {}", chunk.bytes.size(), size);
  }
  return chunk;
}

}  // namespace attn
