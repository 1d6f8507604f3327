#include "lengths.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/hdf5_reader.h"
#include "sizing/paging.h"
#include "sizing/shape_file.h"

namespace attn {
namespace {

std::vector<Index> hdf5_lengths(const std::string& file, const std::string& dataset,
                                Index max_bytes) {
  const auto reader = Hdf5Reader::open(file, {.max_bytes = max_bytes});
  const auto read = reader.read<Index>(
      dataset.empty()
          ? reader.only_dataset(fmt::format("a dataset is named as {}:/NAME", reader.name()))
          : dataset);
  std::vector<Index> lengths(read.data(), read.data() + read.size());
  for (const Index length : lengths) {
    if (length < 1) {
      throw DataError(fmt::format("{}: a length must be 1 or more: {}", reader.name(), length));
    }
  }
  if (lengths.empty()) throw DataError(fmt::format("{}: no lengths in it", reader.name()));
  return lengths;
}

}  // namespace

std::vector<Index> asked_lengths(const std::string& lengths, Index count, Index longest, Index seed,
                                 Index max_bytes) {
  if (is_distribution(lengths)) return drawn_lengths(lengths, count, longest, seed);
  // FILE.h5:/dataset
  const std::size_t colon = lengths.rfind(":/");
  std::error_code ignored;
  const bool dataset = colon != std::string::npos && !std::filesystem::exists(lengths, ignored);
  const std::string file = dataset ? lengths.substr(0, colon) : lengths;
  if (file_start(file, 4) == "\x89HDF") {
    return hdf5_lengths(file, dataset ? lengths.substr(colon + 1) : "", max_bytes);
  }
  const ByteSource source = ByteSource::open(file, max_bytes);
  return parsed_lengths(as_text(source.bytes()), source.name());
}

}  // namespace attn
