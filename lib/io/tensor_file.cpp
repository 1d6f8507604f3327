#include "io/tensor_file.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/ceil_div.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/computation_order.h"
#include "io/hdf5_image.h"

namespace attn {
namespace {

// Numbers as text begin with a digit, a sign, a comment ...
bool is_text_of_numbers(std::span<const std::byte> bytes) {
  constexpr std::size_t kGlance = 4096;
  const std::string_view text = as_text(bytes.first(std::min(kGlance, bytes.size())));
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return false;
  if (std::string_view("0123456789+-.#").find(text[at]) == std::string_view::npos &&
      !text.substr(at).starts_with("nan") && !text.substr(at).starts_with("inf")) {
    return false;
  }
  return text.find('\0') == std::string_view::npos;
}

}  // namespace

TensorFile TensorFile::over(ByteSource source, const ReadLimits& limits) {
  const std::span<const std::byte> bytes = source.bytes();
  if (ArrayFile::takes(bytes)) return TensorFile(ArrayFile(std::move(source), limits));
  if (is_text_of_numbers(bytes) && !has_signature(bytes)) {
    return TensorFile(ArrayFile::from_text(std::move(source), limits));
  }
  return TensorFile(Hdf5Reader::over(std::move(source), limits));
}

TensorFile TensorFile::open(const std::string& argument, const ReadLimits& limits) {
  return over(ByteSource::open(argument, limits.max_bytes), limits);
}

TensorFile TensorFile::from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                  const ReadLimits& limits) {
  return over(ByteSource::from_bytes(std::move(bytes), name), limits);
}

const std::string& TensorFile::name() const {
  return std::visit([](const auto& file) -> const std::string& { return file.name(); }, file_);
}

bool TensorFile::has_dataset(std::string_view path) const {
  return std::visit([&](const auto& file) { return file.has_dataset(path); }, file_);
}

bool TensorFile::has_group(std::string_view path) const {
  return std::visit([&](const auto& file) { return file.has_group(path); }, file_);
}

DatasetInfo TensorFile::info(std::string_view path) const {
  return std::visit([&](const auto& file) { return file.info(path); }, file_);
}

template <class T>
void TensorFile::read_run(std::string_view path, Index first, Index count, T* out) const {
  if (const auto* hdf5 = std::get_if<Hdf5Reader>(&file_)) {
    if constexpr (std::is_same_v<T, double>) {
      if (hdf5->in_one_piece(path)) return hdf5->read_runs(path, first, count, count, 1, out);
    }
  } else if (std::get<ArrayFile>(file_).read_run(path, first, count, out)) {
    return;
  }
  const DatasetInfo about = info(path);
  const Index rows = about.shape.empty() ? 1 : about.shape.front();
  if (count == 0 || rows == 0) return;
  const Index row = about.size / rows;
  const Index from = first / row;
  const Index end = ceil_div(first + count, row);
  std::vector<T> around(static_cast<std::size_t>((end - from) * row));
  read_rows(path, from, end - from, around.data());
  std::copy_n(around.data() + (first - from * row), count, out);
}

template void TensorFile::read_run(std::string_view, Index, Index, double*) const;
template void TensorFile::read_run(std::string_view, Index, Index, float*) const;
template void TensorFile::read_run(std::string_view, Index, Index, std::int64_t*) const;
template void TensorFile::read_run(std::string_view, Index, Index, std::uint64_t*) const;

std::vector<std::string> TensorFile::datasets_in_order() const {
  constexpr Index kMost = 100000;
  std::vector<std::string> names;
  for (const ObjectInfo& held : contents(kMost).objects) {
    if (held.kind == "dataset" && held.readable) names.push_back(held.path);
  }
  if (is_hdf5()) {
    sort_by_computation(names);
    return names;
  }
  const std::vector<std::string> order = std::get<ArrayFile>(file_).paths();
  std::vector<std::string> sorted;
  for (const std::string& path : order) {
    if (std::find(names.begin(), names.end(), path) != names.end()) sorted.push_back(path);
  }
  return sorted;
}

std::vector<std::string> TensorFile::children(std::string_view group, Index most) const {
  return std::visit([&](const auto& file) { return file.children(group, most); }, file_);
}

FileContents TensorFile::contents(Index most) const {
  return std::visit([&](const auto& file) { return file.contents(most); }, file_);
}

std::string TensorFile::only_dataset(const std::string& advice) const {
  return std::visit([&](const auto& file) { return file.only_dataset(advice); }, file_);
}

std::optional<Index> TensorFile::int_attribute(std::string_view object,
                                               const std::string& attribute) const {
  return std::visit([&](const auto& file) { return file.int_attribute(object, attribute); }, file_);
}

std::optional<double> TensorFile::real_attribute(std::string_view object,
                                                 const std::string& attribute) const {
  return std::visit([&](const auto& file) { return file.real_attribute(object, attribute); },
                    file_);
}

std::optional<std::string> TensorFile::text_attribute(std::string_view object,
                                                      const std::string& attribute) const {
  return std::visit([&](const auto& file) { return file.text_attribute(object, attribute); },
                    file_);
}

bool TensorFile::has_attribute(std::string_view object, const std::string& attribute) const {
  return std::visit([&](const auto& file) { return file.has_attribute(object, attribute); }, file_);
}

std::optional<AttributeKind> TensorFile::attribute_kind(std::string_view object,
                                                        const std::string& attribute) const {
  return std::visit([&](const auto& file) { return file.attribute_kind(object, attribute); },
                    file_);
}

std::vector<std::string> TensorFile::attributes(std::string_view object) const {
  return std::visit([&](const auto& file) { return file.attributes(object); }, file_);
}

}  // namespace attn
