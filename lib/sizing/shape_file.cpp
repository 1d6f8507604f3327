#include "sizing/shape_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/hdf5_reader.h"
#include "sizing/checkpoint_shape.h"
#include "sizing/gguf.h"
#include "sizing/hf_config.h"

namespace attn {
namespace {

constexpr Index kLargestHeader = Index{64} << 20;
constexpr std::string_view kHdf5 = "\x89HDF";
constexpr std::string_view kGguf = "GGUF";

// No path goes into a file: the same command must write the same bytes anywhere. A name that all
// configurations share says less than its folder's.
std::string model_name(const std::string& path) {
  if (path == "-") return "stdin";
  const std::filesystem::path full(path);
  const std::string folder = full.parent_path().filename().string();
  const bool shared_name =
      full.filename() == "config.json" && !folder.empty() && folder != "." && folder != "..";
  return escaped(shared_name ? folder + "/config.json" : full.filename().string());
}

CacheSpec from_bytes(const ByteSource& source, const std::string& assume, Index max_bytes) {
  const std::string_view text = as_text(source.bytes());
  if (text.starts_with(kGguf)) return gguf_cache_spec(text, source.name());
  if (text.starts_with(kHdf5)) {
    std::vector<std::byte> copy(source.bytes().begin(), source.bytes().end());
    return checkpoint_shape(
        Hdf5Reader::from_bytes(std::move(copy), source.name(), {.max_bytes = max_bytes}));
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
    throw DataError(
        fmt::format("{}: not a checkpoint (HDF5), a GGUF file or a config.json", source.name()));
  }
  return hf_cache_spec(text.substr(first), source.name(), assume);
}

}  // namespace

std::string file_start(const std::string& argument, std::size_t most) {
  std::error_code ignored;
  if (argument == "-" || !std::filesystem::is_regular_file(argument, ignored)) return "";
  std::ifstream file(argument, std::ios::binary);
  std::string start(4, '\0');
  file.read(start.data(), 4);
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (most <= 4 || start.size() < 4) return start.substr(0, most);
  const auto size = std::filesystem::file_size(argument, ignored);
  start.resize(std::min<std::size_t>(most, static_cast<std::size_t>(size)));
  file.clear();
  file.seekg(0);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

CacheSpec read_shape_file(const std::string& argument, const std::string& assume, Index max_bytes) {
  CacheSpec spec;
  const std::string signature = file_start(argument, 4);
  if (signature == kGguf) {
    // The tensors behind the header are of no interest, however many gigabytes they are.
    spec = gguf_cache_spec(file_start(argument, static_cast<std::size_t>(kLargestHeader)),
                           input_name(argument));
  } else if (signature == kHdf5) {
    spec = checkpoint_shape(Hdf5Reader::open(argument, {.max_bytes = max_bytes}));
  } else {
    spec =
        from_bytes(ByteSource::open(
                       argument, argument == "-" ? max_bytes : std::min(max_bytes, kLargestHeader)),
                   assume, max_bytes);
  }
  spec.model = model_name(argument);
  return spec;
}

}  // namespace attn
