#include "io/array_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/contents_text.h"
#include "io/convert.h"
#include "io/hdf5_path.h"
#include "io/npy.h"
#include "io/table_text.h"
#include "io/tensor_argument.h"

namespace attn {
namespace {

constexpr std::string_view kSuffix = ".npy";

// What a zip archive without arrays is, for those who meant another file.
[[noreturn]] void refuse_zip(const std::vector<ZipMember>& members, const std::string& name) {
  for (const ZipMember& member : members) {
    if (member.name.ends_with("data.pkl")) {
      throw DataError(name + ": is a PyTorch file (a pickle), which is never loaded",
                      {"save arrays: numpy.savez('case.npz', q=q.numpy(), ...)"});
    }
  }
  throw DataError(fmt::format("{}: is a zip archive without NumPy arrays (.npy)", name));
}

}  // namespace

bool ArrayFile::takes(std::span<const std::byte> bytes) {
  return is_npy(bytes) || is_zip(bytes);
}

ArrayFile::ArrayFile(ByteSource source, const ReadLimits& limits)
    : source_(std::move(source)), limits_(limits), budget_(source_.name(), limits.max_bytes) {
  const std::span<const std::byte> bytes = source_.bytes();
  if (!is_zip(bytes)) {
    ZipMember whole;
    whole.size = static_cast<Index>(bytes.size());
    whole.packed = bytes;
    entries_.push_back({kOnly, std::move(whole), std::nullopt, true});
    return;
  }
  zip_ = true;
  std::vector<ZipMember> members = zip_members(bytes, source_.name());
  std::set<std::string> paths;
  for (ZipMember& member : members) {
    if (!member.name.ends_with(kSuffix)) continue;
    std::string path =
        clean_path(std::string_view(member.name).substr(0, member.name.size() - kSuffix.size()));
    if (!paths.insert(path).second) {
      throw DataError(fmt::format("{}: {} stands in it twice", name(), escaped(path)));
    }
    entries_.push_back({std::move(path), std::move(member), std::nullopt, !limits.verify_digest});
  }
  if (entries_.empty() && !members.empty()) refuse_zip(members, name());
}

ArrayFile::ArrayFile(ByteSource source, const ReadLimits& limits, Tensor<double> numbers)
    : source_(std::move(source)),
      limits_(limits),
      made_(npy_bytes(numbers)),
      budget_(source_.name(), limits.max_bytes) {
  ZipMember whole;
  whole.size = static_cast<Index>(made_.size());
  whole.packed = made_;
  entries_.push_back({kOnly, std::move(whole), std::nullopt, true});
}

ArrayFile ArrayFile::from_text(ByteSource source, const ReadLimits& limits) {
  Tensor<double> numbers = parse_numbers(as_text(source.bytes()), source.name());
  return ArrayFile(std::move(source), limits, std::move(numbers));
}

std::string ArrayFile::label(const Entry& entry) const {
  return zip_ ? fmt::format("{}: {}", name(), escaped(entry.path)) : name();
}

const ArrayFile::Entry* ArrayFile::find(std::string_view path) const {
  const std::string clean = clean_path(path);
  for (const Entry& entry : entries_) {
    if (entry.path == clean) return &entry;
  }
  return nullptr;
}

const ArrayFile::Entry& ArrayFile::dataset(std::string_view path) const {
  if (const Entry* entry = find(path)) return *entry;
  if (!zip_) {
    throw DataError(fmt::format("{}: no dataset {}: this is not an HDF5 file, but one array",
                                name(), escaped(clean_path(path))));
  }
  std::string held;
  try {
    held = datasets_text(contents());
  } catch (const DataError&) {
    // The message is good without a list.
  }
  fail_missing_dataset(clean_path(path), held, name());
}

// Every header is held to the bytes behind it.
const NpyHeader& ArrayFile::header(const Entry& entry) const {
  if (entry.header) return *entry.header;
  const std::string called = label(entry);
  const ZipMember& member = entry.member;
  NpyHeader read;
  if (member.deflated) {
    read = read_npy_header(unpack(member, static_cast<Index>(kMostNpyHeader), called), called);
  } else {
    read = read_npy_header(member.packed, called);
  }
  const Index behind = member.size - static_cast<Index>(read.bytes);
  if (behind < read.data_bytes()) {
    throw DataError(fmt::format("{}: truncated: shape {} of {} needs {} bytes, it has {}", called,
                                shape_text(read.shape), read.type_name(), read.data_bytes(),
                                std::max(behind, Index{0})));
  }
  entry.header = std::move(read);
  return *entry.header;
}

const NpyHeader& ArrayFile::numbers_header(const Entry& entry) const {
  const NpyHeader& found = header(entry);
  if (found.kind != NpyHeader::Kind::kNumbers) {
    throw DataError(label(entry) + ": holds text, want numbers");
  }
  return found;
}

std::span<const std::byte> ArrayFile::data(const Entry& entry) const {
  const NpyHeader& about = header(entry);
  const std::string called = label(entry);
  std::span<const std::byte> whole = entry.member.packed;
  if (entry.member.deflated) {
    if (unpacked_ != &entry) {
      if (entry.member.size > limits_.max_bytes) {
        throw DataError(fmt::format("{}: unpacks to {}, over the limit of {} (--max-bytes)", called,
                                    short_size_text(entry.member.size),
                                    short_size_text(limits_.max_bytes)));
      }
      unpacked_ = nullptr;
      unpacked_bytes_.clear();
      unpacked_bytes_ = unpack(entry.member, entry.member.size, called);
      unpacked_ = &entry;
    }
    whole = unpacked_bytes_;
  }
  if (!entry.verified) {
    check_crc(entry.member, whole, called);
    forget(entry.member.packed);
  }
  entry.verified = true;
  return whole.subspan(about.bytes, static_cast<std::size_t>(about.data_bytes()));
}

// A mapped file of any size takes little memory.
void ArrayFile::forget(std::span<const std::byte> part) const {
  if (!made_.empty()) return;
  source_.forget(part.data() - source_.bytes().data(), std::ssize(part));
}

bool ArrayFile::has_dataset(std::string_view path) const {
  return find(path) != nullptr;
}

DatasetInfo ArrayFile::info(std::string_view path) const {
  const Entry& entry = dataset(path);
  const NpyHeader& about = numbers_header(entry);
  return {entry.path, about.shape, about.type.type, about.type_name(), about.size};
}

template <class T>
void ArrayFile::convert_run(const Entry& entry, Index first, Index count, T* out) const {
  const NpyHeader& about = numbers_header(entry);
  const std::byte* from = data(entry).data() + static_cast<std::size_t>(first) * about.item_bytes;
  if (convert(about.type, from, count, out) == count) return;
  throw DataError(fmt::format("{}: a {} does not fit the whole numbers wanted here", label(entry),
                              about.type_name()));
}

template <class T>
bool ArrayFile::read_run(std::string_view path, Index first, Index count, T* out) const {
  const Entry& entry = dataset(path);
  const NpyHeader& about = numbers_header(entry);
  if (about.fortran && about.shape.size() > 1) return false;
  require_shape(first >= 0 && count >= 0 && first <= about.size - count,
                "read_run: numbers outside the dataset");
  if (count == 0) return true;
  convert_run(entry, first, count, out);
  if (!entry.member.deflated) {
    forget(entry.member.packed.subspan(
        about.bytes + static_cast<std::size_t>(first) * about.item_bytes,
        static_cast<std::size_t>(count) * about.item_bytes));
  }
  return true;
}

template <class T>
void ArrayFile::convert_rows(const Entry& entry, Index first, Index count, T* out) const {
  const NpyHeader& about = numbers_header(entry);
  const Index rows = about.shape.empty() ? 1 : about.shape.front();
  require_shape(first >= 0 && count >= 0 && first <= rows - count,
                "read_rows: rows outside the dataset");
  if (count == 0 || about.size == 0) return;
  const Index row_size = about.size / rows;
  if (!about.fortran || about.shape.size() < 2) {
    convert_run(entry, first * row_size, count * row_size, out);
    return;
  }
  // The first axis runs fastest: one run for each place along the others, which stand in the
  // order of their axes reversed.
  std::vector<T> run(static_cast<std::size_t>(count));
  Shape at(about.shape.size());
  for (Index n = 0; n < row_size; ++n) {
    convert_run(entry, n * rows + first, count, run.data());
    Index to = 0;
    for (std::size_t axis = 1; axis < at.size(); ++axis) to = to * about.shape[axis] + at[axis];
    for (Index r = 0; r < count; ++r) out[r * row_size + to] = run[static_cast<std::size_t>(r)];
    for (std::size_t axis = 1; axis < at.size() && ++at[axis] == about.shape[axis]; ++axis) {
      at[axis] = 0;
    }
  }
}

template <class T>
Tensor<T> ArrayFile::read(std::string_view path) const {
  const Entry& entry = dataset(path);
  const NpyHeader& about = numbers_header(entry);
  budget_.charge(entry.path, about.size, sizeof(T));
  Tensor<T> tensor(about.shape);
  convert_rows(entry, 0, about.shape.empty() ? 1 : about.shape.front(), tensor.data());
  return tensor;
}

template <class T>
void ArrayFile::read_rows(std::string_view path, Index first, Index count, T* out) const {
  convert_rows(dataset(path), first, count, out);
}

template Tensor<float> ArrayFile::read(std::string_view) const;
template Tensor<double> ArrayFile::read(std::string_view) const;
template Tensor<std::int64_t> ArrayFile::read(std::string_view) const;
template Tensor<std::uint64_t> ArrayFile::read(std::string_view) const;
template Tensor<std::int32_t> ArrayFile::read(std::string_view) const;
template Tensor<std::uint8_t> ArrayFile::read(std::string_view) const;
template bool ArrayFile::read_run(std::string_view, Index, Index, float*) const;
template bool ArrayFile::read_run(std::string_view, Index, Index, double*) const;
template bool ArrayFile::read_run(std::string_view, Index, Index, std::int64_t*) const;
template bool ArrayFile::read_run(std::string_view, Index, Index, std::uint64_t*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, float*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, double*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, std::int64_t*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, std::uint64_t*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, std::int32_t*) const;
template void ArrayFile::read_rows(std::string_view, Index, Index, std::uint8_t*) const;

}  // namespace attn
