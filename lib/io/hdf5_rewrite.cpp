#include "io/hdf5_rewrite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"
#include "io/content_digest.h"
#include "io/core_driver.h"
#include "io/hdf5_errors.h"
#include "io/hdf5_image.h"
#include "io/hdf5_library.h"
#include "io/hdf5_path.h"
#include "io/image_digest.h"
#include "io/stored_type.h"

namespace attn {
namespace {

// The bytes as they came, which stay as they are, and the library's copy, which becomes ours when
// the file is closed.
struct Copy {
  std::span<const std::byte> original;
  void* changed = nullptr;
  Copy() = default;
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() { std::free(changed); }
};

void* allocate(size_t size, H5FD_file_image_op_t op, void* udata) {
  auto* copy = static_cast<Copy*>(udata);
  if (op != H5FD_FILE_IMAGE_OP_FILE_OPEN) return const_cast<std::byte*>(copy->original.data());
  copy->changed = std::malloc(size);
  return copy->changed;
}
void* copy_bytes(void* to, const void* from, size_t size, H5FD_file_image_op_t /*op*/,
                 void* /*udata*/) {
  return to == from ? to : std::memcpy(to, from, size);
}
void* grow(void* /*data*/, size_t size, H5FD_file_image_op_t /*op*/, void* udata) {
  auto* copy = static_cast<Copy*>(udata);
  void* larger = std::realloc(copy->changed, size);
  if (larger != nullptr) copy->changed = larger;
  return larger;
}
herr_t keep(void* /*data*/, H5FD_file_image_op_t /*op*/, void* /*udata*/) {
  return 0;
}

void require(bool done, const std::string& label) {
  if (!done) throw DataError(fmt::format("{}: cannot be written: {}", label, library_error()));
}

std::vector<std::uint16_t> half_bits(const std::vector<double>& values, DType type) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const double value : values) {
    const auto single = static_cast<float>(value);
    bits.push_back(type == DType::kF16 ? float_to_f16(single) : float_to_bf16(single));
  }
  return bits;
}

// The library converts byte orders; to fewer bits it would round in its own way, so we do.
herr_t write_numbers(hid_t dataset, hid_t type, const std::vector<double>& values,
                     const std::string& label) {
  const auto write = [&](hid_t memory, const void* from) {
    return H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
  };
  auto stored = stored_type(type);
  const bool floats = stored && stored->kind == StoredType::Kind::kFloat;
  if (!floats) {
    stored = as_bfloat16(type);
    if (!stored || H5Aexists(dataset, "dtype") <= 0) {
      throw DataError(fmt::format("{}: holds no fractions: other numbers would be rounded", label));
    }
  }
  const DType kind = stored->type;
  if (stored->standard && kind == DType::kF32) {
    const std::vector<float> single(values.begin(), values.end());
    return write(H5T_NATIVE_FLOAT, single.data());
  }
  const bool half = kind == DType::kF16 || kind == DType::kBF16;
  if ((stored->standard || !floats) && half) {
    const TypeId memory(H5Tcopy(type));
    if (H5Tget_class(type) != H5T_OPAQUE) H5Tset_order(memory.get(), H5T_ORDER_LE);
    return write(memory.get(), half_bits(values, kind).data());
  }
  return write(H5T_NATIVE_DOUBLE, values.data());
}

void replace(hid_t file, const std::string& name, const NewNumbers& numbers) {
  const std::string path = clean_path(numbers.path);
  const std::string label = fmt::format("{}: {}", name, escaped(path));
  const DatasetId dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT));
  require(dataset.valid(), label);
  const SpaceId space(H5Dget_space(dataset.get()));
  require_shape(H5Sget_simple_extent_npoints(space.get()) == numbers.values.size(),
                "rewritten: the numbers do not fill the dataset");
  if (numbers.values.size() == 0) return;
  const TypeId type(H5Dget_type(dataset.get()));
  require(write_numbers(dataset.get(), type.get(), numbers.values.values, label) >= 0, label);
}

void remove_attribute(hid_t root, const char* attribute) {
  if (H5Aexists(root, attribute) > 0) H5Adelete(root, attribute);
}

void put_history(hid_t root, const std::string& name, const std::string& history) {
  remove_attribute(root, "history");
  const TypeId type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), std::max<std::size_t>(1, history.size()));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const SpaceId space(H5Screate(H5S_SCALAR));
  const AttributeId made(
      H5Acreate2(root, "history", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  require(made.valid() && H5Awrite(made.get(), type.get(), history.c_str()) >= 0,
          name + ": history");
}

}  // namespace

Hdf5Image rewritten(std::span<const std::byte> image, const std::string& name,
                    const std::vector<NewNumbers>& replaced, const std::string& history) {
  const LibraryScope scope(name);
  Copy copy;
  copy.original = image;
  const PropertyId access =
      core_driver_access({allocate, copy_bytes, grow, keep, nullptr, nullptr, &copy});
  H5Pset_file_image(access.get(), const_cast<std::byte*>(image.data()), image.size());
  FileId file(H5Fopen(image_name().c_str(), H5F_ACC_RDWR, access.get()));
  if (!file.valid()) fail_damaged(name);
  for (const NewNumbers& numbers : replaced) replace(file.get(), name, numbers);
  {
    const GroupId root(H5Gopen2(file.get(), "/", H5P_DEFAULT));
    require(root.valid(), name);
    remove_attribute(root.get(), kDigestAttribute);
    remove_attribute(root.get(), kImageDigestAttribute);
    put_history(root.get(), name, history);
  }
  require(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0, name);
  // Asked for before the file is closed; the driver's memory is rounded up.
  const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
  require(size > 0, name);
  file = FileId();
  return {static_cast<std::byte*>(std::exchange(copy.changed, nullptr)),
          static_cast<std::size_t>(size)};
}

}  // namespace attn
