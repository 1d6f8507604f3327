#include "io/tensor_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_path.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/number_bytes.h"

namespace attn {
namespace {

// Bytes of one or several numbers, of which `type` is known to hold each.
template <class T>
std::vector<std::byte> bytes_in(std::span<const T> values, DType type, const std::string& what) {
  auto bytes = number_bytes(values, type);
  if (!bytes) {
    throw DataError(fmt::format("{}: a number does not fit {}", what, dtype_name(type)));
  }
  return std::move(*bytes);
}

std::vector<double> numbers_of(const StoredTensor& tensor) {
  const TensorFile file =
      TensorFile::from_bytes(npy_bytes(tensor.shape, tensor.type, tensor.bytes), tensor.path);
  return file.read<double>(ArrayFile::kOnly).values;
}

}  // namespace

StoredTensor stored_tensor(const TensorFile& file, const std::string& dataset) {
  const DatasetInfo info = file.info(dataset);
  StoredTensor tensor{info.path, info.shape, info.type, {}};
  const std::string what = fmt::format("{}: {}", file.name(), escaped(info.path));
  if (info.type == DType::kU64) {
    const auto read = file.read<std::uint64_t>(dataset);
    const auto bytes = std::as_bytes(std::span(read.values));
    tensor.bytes.assign(bytes.begin(), bytes.end());
  } else if (is_floating(info.type)) {
    const auto read = file.read<double>(dataset);
    tensor.bytes = bytes_in(std::span<const double>(read.values), info.type, what);
  } else {
    // A bool may hold other numbers than 0 and 1.
    if (info.type == DType::kBool) tensor.type = DType::kU8;
    const auto read = file.read<std::int64_t>(dataset);
    tensor.bytes = bytes_in(std::span<const std::int64_t>(read.values), tensor.type, what);
  }
  return tensor;
}

StoredTensor in_type(const StoredTensor& tensor, DType type, const std::string& what) {
  if (tensor.type == type) return tensor;
  const std::vector<double> numbers = numbers_of(tensor);
  return {tensor.path, tensor.shape, type, bytes_in(std::span<const double>(numbers), type, what)};
}

void TensorSet::put(StoredTensor tensor) {
  tensor.path = clean_path(tensor.path);
  if (tensor.path == "/") throw DataError("/ is the file itself: a tensor needs a name");
  for (StoredTensor& held : tensors_) {
    if (held.path == tensor.path) {
      held = std::move(tensor);
      return;
    }
    // A dataset cannot be a group as well.
    if (held.path.starts_with(tensor.path + "/") || tensor.path.starts_with(held.path + "/")) {
      throw DataError(fmt::format("{} and {}: a dataset cannot hold another", escaped(held.path),
                                  escaped(tensor.path)));
    }
  }
  tensors_.push_back(std::move(tensor));
}

void TensorSet::put(Attribute attribute) {
  attribute.object = clean_path(attribute.object);
  for (Attribute& held : attributes_) {
    if (held.object == attribute.object && held.name == attribute.name) {
      held = std::move(attribute);
      return;
    }
  }
  attributes_.push_back(std::move(attribute));
}

void TensorSet::put(std::string_view path, const Tensor<double>& tensor, DType type) {
  const std::string clean = clean_path(path);
  put({clean, tensor.shape, type, bytes_in(std::span<const double>(tensor.values), type, clean)});
}

void TensorSet::add_all(const TensorFile& file, std::vector<std::string>& left_out) {
  const auto add_attributes = [&](const std::string& object) {
    for (const std::string& name : file.attributes(object)) {
      const auto kind = file.attribute_kind(object, name).value_or(AttributeKind::kOther);
      if (kind == AttributeKind::kInteger) {
        put({object, name, file.int_attribute(object, name).value_or(0)});
      } else if (kind == AttributeKind::kReal) {
        put({object, name, file.real_attribute(object, name).value_or(0)});
      } else if (kind == AttributeKind::kText) {
        put({object, name, file.text_attribute(object, name).value_or("")});
      } else {
        left_out.push_back(fmt::format("{}@{}", object == "/" ? "" : object, name));
      }
    }
  };
  add_attributes("/");
  const FileContents held = file.contents(100000);
  for (const ObjectInfo& info : held.objects) {
    if (info.path == "/" || info.kind == "group") continue;
    if (!file.is_hdf5() && file.has_attribute("/", info.path.substr(1))) continue;
    if (!info.readable) {
      left_out.push_back(info.path);
      continue;
    }
    put(stored_tensor(file, info.path));
    if (file.is_hdf5()) add_attributes(info.path);
  }
}

const StoredTensor* TensorSet::find(std::string_view path) const {
  const std::string clean = clean_path(path);
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const StoredTensor& one) { return one.path == clean; });
  return found == tensors_.end() ? nullptr : &*found;
}

void TensorSet::write(Hdf5Writer& writer) const {
  for (const StoredTensor& tensor : tensors_) {
    writer.dataset(tensor.path, tensor.shape, tensor.type, tensor.bytes);
  }
  for (const Attribute& one : attributes_) {
    const bool there = one.object == "/" || find(one.object) != nullptr;
    if (!there) writer.group(one.object);
    std::visit([&](const auto& value) { writer.attribute(one.object, one.name, value); },
               one.value);
  }
}

std::vector<std::byte> TensorSet::npz() const {
  NpzWriter writer;
  for (const StoredTensor& tensor : tensors_) {
    const bool brain = tensor.type == DType::kBF16;
    const StoredTensor wide = brain ? in_type(tensor, DType::kF32, tensor.path) : StoredTensor();
    const StoredTensor& kept = brain ? wide : tensor;
    writer.add(kept.path.substr(1), npy_bytes(kept.shape, kept.type, kept.bytes));
  }
  for (const Attribute& one : attributes_) {
    if (one.object != "/") continue;
    if (const auto* whole = std::get_if<Index>(&one.value)) {
      writer.add(one.name, npy_bytes(Tensor<std::int64_t>({}, {*whole})));
    } else if (const auto* real = std::get_if<double>(&one.value)) {
      writer.add(one.name, npy_bytes(Tensor<double>({}, {*real})));
    } else {
      writer.add(one.name, npy_text(std::get<std::string>(one.value)));
    }
  }
  return writer.finish();
}

}  // namespace attn
