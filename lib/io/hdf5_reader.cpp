#include "io/hdf5_reader.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/child_process.h"
#include "io/contents_text.h"
#include "io/contents_walk.h"
#include "io/hdf5_attributes.h"
#include "io/hdf5_errors.h"
#include "io/hdf5_image.h"
#include "io/hdf5_library.h"
#include "io/hdf5_listing.h"
#include "io/hdf5_path.h"
#include "io/image_digest.h"
#include "io/stored_dataset.h"
#include "io/verify_digest.h"

namespace attn {

struct Hdf5Reader::Impl {
  Impl(ByteSource bytes, const ReadLimits& read_limits)
      : source(std::move(bytes)),
        limits(read_limits),
        budget(source.name(), read_limits.max_bytes) {
    const LibraryScope scope(source.name());
    check_image(source.bytes(), source.name());
    if (limits.verify_digest) verify_digest(source.bytes(), source.name(), limits.max_bytes);
    file = open_image(source.bytes(), source.name());
    check_format();
  }
  ~Impl() {
    const LibraryScope scope(source.name());
    latest.reset();
    file = FileId();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string label(std::string_view path) const {
    return fmt::format("{}: {}", source.name(), escaped(clean_path(path)));
  }
  std::optional<ObjectId> find(std::string_view path) const {
    return find_object(file.get(), path, source.name());
  }

  // The dataset that was used last stays open: row blocks would check its header each time.
  const StoredDataset& dataset(std::string_view path) {
    const std::string clean = clean_path(path);
    if (latest && latest_path == clean) return *latest;
    latest.reset();
    auto object = find(clean);
    if (!object) fail_missing(clean);
    latest.emplace(std::move(*object), label(clean), source.bytes(), limits.max_bytes);
    latest_path = clean;
    return *latest;
  }

  [[noreturn]] void fail_missing(const std::string& path) const;
  FileContents contents(Index most) const;
  void check_format() const;

  ByteSource source;
  ReadLimits limits;
  FileId file;
  std::optional<StoredDataset> latest;
  std::string latest_path;
  ReadBudget budget;
};

// Listing goes through much more of the library than reading, so a child does it.
FileContents Hdf5Reader::Impl::contents(Index most) const {
  const ChildAnswer answer = run_in_child(
      [&] { return pack(walk_contents(file.get(), source.bytes(), most, limits.max_bytes)); });
  if (!answer.trouble.empty()) {
    throw DataError(fmt::format("{}: listing what it holds {}; the file is damaged or hostile",
                                source.name(), answer.trouble));
  }
  return unpack(answer.text);
}

void Hdf5Reader::Impl::fail_missing(const std::string& path) const {
  std::string held;
  try {
    constexpr Index kEnough = 1000;
    held = datasets_text(contents(kEnough));
  } catch (const DataError&) {
    // The message is good without a list.
  }
  fail_missing_dataset(path, held, source.name());
}

// Files of other makers need no `format`; where it is one of ours, it must be one we know.
void Hdf5Reader::Impl::check_format() const {
  if (!stands_near_start(source.bytes(), "attntools-")) return;
  const auto root = find("/");
  if (H5Aexists(root->get(), "format") <= 0 || H5Aexists(root->get(), "format_version") <= 0)
    return;
  std::string format;
  try {
    format = string_attribute(root->get(), "format", source.name()).value_or("");
  } catch (const DataError&) {
    return;  // other makers' attribute of this name means what it likes
  }
  const bool ours = format == "attntools-tensors" || format == "attntools-checkpoint" ||
                    format == "attntools-bench";
  if (!ours) return;
  constexpr Index kNewest = 1;
  const std::vector<Index> version =
      number_attribute<Index>(root->get(), "format_version", source.name())
          .value_or(std::vector<Index>());
  if (version.size() != 1 || version[0] < 1 || version[0] > kNewest) {
    throw DataError(fmt::format("{}: {} version {}, this program reads 1 to {}", source.name(),
                                format, fmt::join(version, ","), kNewest));
  }
}

Hdf5Reader::Hdf5Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;
Hdf5Reader::~Hdf5Reader() = default;

Hdf5Reader Hdf5Reader::open(const std::string& argument, const ReadLimits& limits) {
  return Hdf5Reader(std::make_unique<Impl>(ByteSource::open(argument, limits.max_bytes), limits));
}

Hdf5Reader Hdf5Reader::over(ByteSource source, const ReadLimits& limits) {
  return Hdf5Reader(std::make_unique<Impl>(std::move(source), limits));
}

Hdf5Reader Hdf5Reader::from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                  const ReadLimits& limits) {
  return Hdf5Reader(std::make_unique<Impl>(ByteSource::from_bytes(std::move(bytes), name), limits));
}

const std::string& Hdf5Reader::name() const {
  return impl_->source.name();
}

bool Hdf5Reader::has_dataset(std::string_view path) const {
  const LibraryScope scope(name());
  const auto object = impl_->find(path);
  return object && H5Iget_type(object->get()) == H5I_DATASET;
}

bool Hdf5Reader::has_group(std::string_view path) const {
  const LibraryScope scope(name());
  const auto object = impl_->find(path);
  return object && H5Iget_type(object->get()) == H5I_GROUP;
}

DatasetInfo Hdf5Reader::info(std::string_view path) const {
  const LibraryScope scope(name());
  const StoredDataset& dataset = impl_->dataset(path);
  return {clean_path(path), dataset.shape(), dataset.type().type, dataset.type().name(),
          dataset.size()};
}

template <class T>
Tensor<T> Hdf5Reader::read(std::string_view path) const {
  const LibraryScope scope(name());
  const StoredDataset& dataset = impl_->dataset(path);
  impl_->budget.charge(clean_path(path), dataset.size(), sizeof(T));
  Tensor<T> tensor(dataset.shape());
  dataset.read_rows(0, dataset.rows(), tensor.data());
  return tensor;
}

template <class T>
void Hdf5Reader::read_rows(std::string_view path, Index first, Index count, T* out) const {
  const LibraryScope scope(name());
  const StoredDataset& dataset = impl_->dataset(path);
  require_shape(first >= 0 && count >= 0 && first <= dataset.rows() - count,
                "read_rows: rows outside the dataset");
  dataset.read_rows(first, count, out);
}

bool Hdf5Reader::in_one_piece(std::string_view path) const {
  const LibraryScope scope(name());
  return impl_->dataset(path).in_one_piece();
}

void Hdf5Reader::read_runs(std::string_view path, Index first, Index run, Index stride, Index runs,
                           double* out) const {
  const LibraryScope scope(name());
  const StoredDataset& dataset = impl_->dataset(path);
  dataset.read_runs(first, run, stride, runs, out);
  if (run == 0 || runs == 0) return;
  const auto [begin, bytes] = dataset.bytes_of(first, (runs - 1) * stride + run);
  // Small datasets stand within their header, of which the library keeps a copy of its own.
  const std::span<const std::byte> all = impl_->source.bytes();
  const std::less_equal<> before;
  if (before(all.data(), begin) && before(begin + bytes, all.data() + all.size())) {
    impl_->source.forget(begin - all.data(), bytes);
  }
}

template Tensor<float> Hdf5Reader::read(std::string_view) const;
template Tensor<double> Hdf5Reader::read(std::string_view) const;
template Tensor<std::int64_t> Hdf5Reader::read(std::string_view) const;
template Tensor<std::uint64_t> Hdf5Reader::read(std::string_view) const;
template Tensor<std::int32_t> Hdf5Reader::read(std::string_view) const;
template Tensor<std::uint8_t> Hdf5Reader::read(std::string_view) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, float*) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, double*) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, std::int64_t*) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, std::uint64_t*) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, std::int32_t*) const;
template void Hdf5Reader::read_rows(std::string_view, Index, Index, std::uint8_t*) const;

std::vector<std::string> Hdf5Reader::children(std::string_view group, Index most) const {
  const LibraryScope scope(name());
  const auto object = impl_->find(group);
  const std::string label = impl_->label(group);
  if (!object) throw DataError(fmt::format("{}: no group {}", name(), escaped(clean_path(group))));
  if (H5Iget_type(object->get()) != H5I_GROUP) throw DataError(label + " is not a group");
  return link_names(object->get(), most, label);
}

FileContents Hdf5Reader::contents(Index most) const {
  const LibraryScope scope(name());
  return impl_->contents(most);
}

std::string Hdf5Reader::only_dataset(const std::string& advice) const {
  constexpr Index kEnough = 10000;
  return only_dataset_of(contents(kEnough), name(), advice);
}

bool Hdf5Reader::has_attribute(std::string_view object, const std::string& attribute) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  return found && H5Aexists(found->get(), attribute.c_str()) > 0;
}

std::optional<AttributeKind> Hdf5Reader::attribute_kind(std::string_view object,
                                                        const std::string& attribute) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  if (!found) return std::nullopt;
  return attn::attribute_kind(found->get(), attribute, impl_->label(object));
}

std::vector<std::string> Hdf5Reader::attributes(std::string_view object) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  if (!found) return {};
  return attribute_names(found->get(), impl_->label(object));
}

std::optional<std::vector<Index>> Hdf5Reader::int_array_attribute(
    std::string_view object, const std::string& attribute) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  if (!found) return std::nullopt;
  return number_attribute<Index>(found->get(), attribute, impl_->label(object));
}

std::optional<std::vector<double>> Hdf5Reader::real_array_attribute(
    std::string_view object, const std::string& attribute) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  if (!found) return std::nullopt;
  return number_attribute<double>(found->get(), attribute, impl_->label(object));
}

namespace {

template <class T>
std::optional<T> only_value(const std::optional<std::vector<T>>& values, const std::string& label,
                            const std::string& attribute) {
  if (!values) return std::nullopt;
  if (values->size() != 1) {
    throw DataError(fmt::format("{}: attribute '{}' holds {} values, want one", label,
                                escaped(attribute), values->size()));
  }
  return values->front();
}

}  // namespace

std::optional<Index> Hdf5Reader::int_attribute(std::string_view object,
                                               const std::string& attribute) const {
  return only_value(int_array_attribute(object, attribute), impl_->label(object), attribute);
}

std::optional<double> Hdf5Reader::real_attribute(std::string_view object,
                                                 const std::string& attribute) const {
  return only_value(real_array_attribute(object, attribute), impl_->label(object), attribute);
}

std::optional<std::string> Hdf5Reader::text_attribute(std::string_view object,
                                                      const std::string& attribute) const {
  const LibraryScope scope(name());
  const auto found = impl_->find(object);
  if (!found) return std::nullopt;
  return string_attribute(found->get(), attribute, impl_->label(object));
}

}  // namespace attn
