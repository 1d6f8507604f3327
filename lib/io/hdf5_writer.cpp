#include "io/hdf5_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "io/content_digest.h"
#include "io/core_driver.h"
#include "io/dimension_scale.h"
#include "io/file_type.h"
#include "io/growing_memory.h"
#include "io/hdf5_attributes.h"
#include "io/hdf5_library.h"
#include "io/hdf5_path.h"
#include "io/image_digest.h"
#include "io/stored_type.h"

namespace attn {
namespace {

// What fails here is memory or a call that no file can cause, so it is nobody's data.
void require(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(fmt::format("writing HDF5: {}: {}", what, library_error()));
}

template <class T>
hid_t file_type() {
  if constexpr (std::is_same_v<T, float>) return H5T_IEEE_F32LE;
  if constexpr (std::is_same_v<T, double>) return H5T_IEEE_F64LE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_STD_I64LE;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_STD_I32LE;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_STD_U8LE;
}

PropertyId without_times(hid_t kind) {
  PropertyId creation(H5Pcreate(kind));
  H5Pset_obj_track_times(creation.get(), false);
  return creation;
}

}  // namespace

struct Hdf5Writer::Impl {
  Impl() : memory(std::make_unique<GrowingMemory>()) {
    const LibraryScope scope;
    const PropertyId access = core_driver_access(memory->callbacks());
    const PropertyId creation = without_times(H5P_FILE_CREATE);
    file = FileId(H5Fcreate(image_name().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    require(file.valid(), "new file");
  }
  ~Impl() {
    const LibraryScope scope;
    file = FileId();  // before its memory
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void make_groups(const std::string& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      make_group(path.substr(0, slash));
    }
  }
  void make_group(const std::string& path) {
    if (path == "/" || H5Lexists(file.get(), path.c_str(), H5P_DEFAULT) > 0) return;
    const PropertyId creation = without_times(H5P_GROUP_CREATE);
    const GroupId made(
        H5Gcreate2(file.get(), path.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    require(made.valid(), path);
  }

  DatasetId make_dataset(std::string_view path, const Shape& shape, hid_t type) {
    const std::string clean = clean_path(path);
    has_datasets = true;
    make_groups(clean);
    std::vector<hsize_t> extents;
    for (const Index extent : shape) {
      require_shape(extent >= 0, "Hdf5Writer: an extent is negative");
      extents.push_back(static_cast<hsize_t>(extent));
    }
    const SpaceId space(extents.empty() ? H5Screate(H5S_SCALAR)
                                        : H5Screate_simple(static_cast<int>(extents.size()),
                                                           extents.data(), nullptr));
    const PropertyId creation = without_times(H5P_DATASET_CREATE);
    DatasetId dataset(H5Dcreate2(file.get(), clean.c_str(), type, space.get(), H5P_DEFAULT,
                                 creation.get(), H5P_DEFAULT));
    require(dataset.valid(), clean);
    return dataset;
  }

  void put_attribute(std::string_view object, const std::string& name, hid_t type, hid_t space,
                     const void* value, std::size_t bytes) {
    constexpr std::size_t kMostBytes = 32768;
    const std::string clean = clean_path(object);
    require_shape(bytes <= kMostBytes,
                  fmt::format("Hdf5Writer: attribute {} of {} is over 32 KiB", name, clean));
    const bool there = clean == "/" || H5Lexists(file.get(), clean.c_str(), H5P_DEFAULT) > 0;
    require_shape(there,
                  fmt::format("Hdf5Writer: attribute {} of {}, which was not made", name, clean));
    const ObjectId owner(H5Oopen(file.get(), clean.c_str(), H5P_DEFAULT));
    require(owner.valid(), clean);
    if (H5Aexists(owner.get(), name.c_str()) > 0) H5Adelete(owner.get(), name.c_str());
    const AttributeId made(
        H5Acreate2(owner.get(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
    require(made.valid() && H5Awrite(made.get(), type, value) >= 0, clean + " " + name);
    if (const auto plain = plain_attribute_bytes(made.get(), clean); !plain.empty()) {
      content.attribute(clean, name, plain);
    }
  }

  void put_text(std::string_view object, const std::string& name, std::string_view value) {
    const TypeId type = text_type(value.size());
    const SpaceId space(H5Screate(H5S_SCALAR));
    std::string padded(value);
    padded.resize(H5Tget_size(type.get()));
    put_attribute(object, name, type.get(), space.get(), padded.data(), padded.size());
  }

  // In place, so that it stays where it is: same length, same type.
  void rewrite_text(const char* name, const std::string& value) {
    const AttributeId attribute(H5Aopen(file.get(), name, H5P_DEFAULT));
    const TypeId type = text_type(value.size());
    require(attribute.valid() && H5Awrite(attribute.get(), type.get(), value.data()) >= 0, name);
  }

  // Padded with NUL, not ended by one: netCDF would show the last one as a character.
  static TypeId text_type(std::size_t length) {
    TypeId type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), std::max<std::size_t>(length, 1));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
  }

  std::unique_ptr<GrowingMemory> memory;
  FileId file;
  ContentDigest content;
  bool wants_digest = false;
  bool has_datasets = false;
};

Hdf5Writer::Hdf5Writer() : impl_(std::make_unique<Impl>()) {}
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;
Hdf5Writer& Hdf5Writer::operator=(Hdf5Writer&&) noexcept = default;
Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::group(std::string_view path) {
  const LibraryScope scope;
  const std::string clean = clean_path(path);
  impl_->make_groups(clean);
  impl_->make_group(clean);
}

template <class T>
void Hdf5Writer::dataset(std::string_view path, const Shape& shape, const T* values) {
  const LibraryScope scope;
  const auto count = checked_product(shape);
  require_shape(count.has_value(), "Hdf5Writer: the number of elements leaves 63 bits");
  const hid_t type = file_type<T>();
  const DatasetId dataset = impl_->make_dataset(path, shape, type);
  if (*count > 0) {
    require(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0,
            clean_path(path));
  }
  const auto stored = stored_type(type);
  impl_->content.dataset(clean_path(path), stored->name(), shape,
                         std::as_bytes(std::span(values, static_cast<std::size_t>(*count))));
}

void Hdf5Writer::dataset(std::string_view path, const Shape& shape, DType type,
                         std::span<const std::byte> values) {
  const LibraryScope scope;
  const auto count = checked_product(shape);
  require_shape(count && checked_mul(*count, dtype_bytes(type)) == std::ssize(values),
                "Hdf5Writer: the bytes do not fill the shape");
  const TypeId stored = file_type_of(type);
  const DatasetId dataset = impl_->make_dataset(path, shape, stored.get());
  if (*count > 0) {
    require(
        H5Dwrite(dataset.get(), stored.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0,
        clean_path(path));
  }
  impl_->content.dataset(clean_path(path), dtype_name(type), shape, values);
}

template void Hdf5Writer::dataset(std::string_view, const Shape&, const float*);
template void Hdf5Writer::dataset(std::string_view, const Shape&, const double*);
template void Hdf5Writer::dataset(std::string_view, const Shape&, const std::int64_t*);
template void Hdf5Writer::dataset(std::string_view, const Shape&, const std::int32_t*);
template void Hdf5Writer::dataset(std::string_view, const Shape&, const std::uint8_t*);

void Hdf5Writer::labels(std::string_view path, const std::vector<std::string>& values) {
  const LibraryScope scope;
  // One byte more than the longest: readers that expect C strings, netCDF's among them, run on
  // into the next value where there is no NUL.
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size() + 1);
  std::string padded(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(padded.data() + i * width, values[i].data(), values[i].size());
  }
  const TypeId type = Impl::text_type(width);
  const DatasetId dataset =
      impl_->make_dataset(path, {static_cast<Index>(values.size())}, type.get());
  if (values.empty()) return;
  require(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()) >= 0,
          clean_path(path));
}

void Hdf5Writer::attribute(std::string_view object, const std::string& name, Index value) {
  const LibraryScope scope;
  const SpaceId space(H5Screate(H5S_SCALAR));
  impl_->put_attribute(object, name, H5T_STD_I64LE, space.get(), &value, sizeof(value));
}

void Hdf5Writer::attribute(std::string_view object, const std::string& name, double value) {
  const LibraryScope scope;
  const SpaceId space(H5Screate(H5S_SCALAR));
  impl_->put_attribute(object, name, H5T_IEEE_F64LE, space.get(), &value, sizeof(value));
}

void Hdf5Writer::attribute(std::string_view object, const std::string& name,
                           std::string_view value) {
  const LibraryScope scope;
  impl_->put_text(object, name, value);
}

namespace {

SpaceId line_of(std::size_t count) {
  const hsize_t extent = count;
  return SpaceId(H5Screate_simple(1, &extent, nullptr));
}

}  // namespace

void Hdf5Writer::attribute(std::string_view object, const std::string& name,
                           std::span<const Index> values) {
  const LibraryScope scope;
  const SpaceId space = line_of(values.size());
  impl_->put_attribute(object, name, H5T_STD_I64LE, space.get(), values.data(),
                       values.size_bytes());
}

void Hdf5Writer::attribute(std::string_view object, const std::string& name,
                           std::span<const double> values) {
  const LibraryScope scope;
  const SpaceId space = line_of(values.size());
  impl_->put_attribute(object, name, H5T_IEEE_F64LE, space.get(), values.data(),
                       values.size_bytes());
}

void Hdf5Writer::scale(std::string_view dataset, Index axis, std::string_view scale_dataset,
                       const std::string& name) {
  const LibraryScope scope;
  const std::string data_path = clean_path(dataset);
  const std::string scale_path = clean_path(scale_dataset);
  const bool there = H5Lexists(impl_->file.get(), data_path.c_str(), H5P_DEFAULT) > 0 &&
                     H5Lexists(impl_->file.get(), scale_path.c_str(), H5P_DEFAULT) > 0;
  require_shape(there, "Hdf5Writer: scale of a dataset that was not made");
  const auto text = [&](const std::string& attribute, std::string_view value) {
    // The convention wants these two ended by a NUL.
    const TypeId type(H5Tcopy(H5T_C_S1));
    std::string ended(value);
    ended.push_back('\0');
    H5Tset_size(type.get(), ended.size());
    const SpaceId space(H5Screate(H5S_SCALAR));
    impl_->put_attribute(scale_path, attribute, type.get(), space.get(), ended.data(),
                         ended.size());
  };
  text("CLASS", "DIMENSION_SCALE");
  text("NAME", name);
  require(attach_scale(impl_->file.get(), data_path, axis, scale_path), "dimension scale");
}

void Hdf5Writer::digest() {
  const LibraryScope scope;
  require_shape(!impl_->has_datasets, "Hdf5Writer: digest() comes before the first dataset");
  impl_->wants_digest = true;
  impl_->put_text("/", kDigestAttribute, ContentDigest::zero());
  impl_->put_text("/", kImageDigestAttribute, zero_image_digest());
}

Hdf5Image Hdf5Writer::finish() {
  const LibraryScope scope;
  Impl& made = *impl_;
  if (made.wants_digest) made.rewrite_text(kDigestAttribute, made.content.text());
  require(H5Fflush(made.file.get(), H5F_SCOPE_GLOBAL) >= 0, "flush");
  // Asked for before the file is closed; the driver's buffer is rounded up.
  const ssize_t size = H5Fget_file_image(made.file.get(), nullptr, 0);
  require(size > 0, "size");
  // Not H5Fget_file_image for the bytes: it copies them, and 1.10.8 leaves a wrong checksum in the
  // superblocks of newer formats.
  made.file = FileId();
  std::byte* data = made.memory->take();
  Hdf5Image image(data, static_cast<std::size_t>(size));
  if (made.wants_digest) sign_image({data, static_cast<std::size_t>(size)});
  impl_ = std::make_unique<Impl>();
  return image;
}

}  // namespace attn
