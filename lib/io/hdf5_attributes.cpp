#include "io/hdf5_attributes.h"

#include <fmt/core.h>

#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/text.h"
#include "io/convert.h"
#include "io/hdf5_errors.h"
#include "io/stored_type.h"

namespace attn {
namespace {

constexpr hsize_t kMostBytes = hsize_t{1} << 20;

struct OpenAttribute {
  AttributeId id;
  TypeId type;
  std::string label;
  std::size_t elements = 0;
};

std::optional<OpenAttribute> open_attribute(hid_t object, const std::string& name,
                                            const std::string& label) {
  OpenAttribute open;
  open.label = fmt::format("{}: attribute '{}'", label, escaped(name));
  const htri_t exists = H5Aexists(object, name.c_str());
  if (exists < 0) fail_damaged(open.label);
  if (exists == 0) return std::nullopt;
  open.id = AttributeId(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  if (!open.id.valid()) fail_damaged(open.label);
  open.type = TypeId(H5Aget_type(open.id.get()));
  const SpaceId space(H5Aget_space(open.id.get()));
  if (!open.type.valid() || !space.valid()) fail_damaged(open.label);
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (elements < 0) fail_damaged(open.label);
  if (H5Sget_simple_extent_ndims(space.get()) > 1) {
    throw DataError(open.label + " has more than one axis");
  }
  open.elements = static_cast<std::size_t>(elements);
  const hsize_t each = H5Tget_size(open.type.get());
  if (each == 0 || open.elements > kMostBytes / each) {
    throw DataError(open.label + " is larger than 1 MiB");
  }
  return open;
}

// The file's own type as the memory type: the library converts nothing.
std::vector<std::byte> raw_bytes(const OpenAttribute& open) {
  const std::size_t size = open.elements * H5Tget_size(open.type.get());
  if (H5Aget_storage_size(open.id.get()) != size) fail_damaged(open.label);
  std::vector<std::byte> raw(size);
  if (size > 0 && H5Aread(open.id.get(), open.type.get(), raw.data()) < 0) fail_damaged(open.label);
  return raw;
}

std::string variable_text(const OpenAttribute& open) {
  const TypeId memory(H5Tcopy(H5T_C_S1));
  H5Tset_size(memory.get(), H5T_VARIABLE);
  H5Tset_cset(memory.get(), H5Tget_cset(open.type.get()));
  char* text = nullptr;
  if (H5Aread(open.id.get(), memory.get(), &text) < 0) fail_damaged(open.label);
  std::string copy = text == nullptr ? "" : text;
  H5free_memory(text);
  return copy;
}

}  // namespace

template <class T>
std::optional<std::vector<T>> number_attribute(hid_t object, const std::string& attribute,
                                               const std::string& label) {
  const auto open = open_attribute(object, attribute, label);
  if (!open) return std::nullopt;
  const auto type = stored_type(open->type.get());
  if (!type) {
    throw DataError(fmt::format("{} has type {}, want a number", open->label,
                                type_class_name(open->type.get())));
  }
  const std::vector<std::byte> raw = raw_bytes(*open);
  std::vector<T> values(open->elements);
  const auto count = static_cast<Index>(values.size());
  const Index done = convert(*type, raw.data(), count, values.data());
  if (done < count) {
    double value = 0;
    const std::byte* at = raw.data() + static_cast<std::size_t>(done) * type->size;
    static_cast<void>(convert(*type, at, 1, &value));
    throw DataError(fmt::format("{} is {}, want a whole number", open->label, value));
  }
  return values;
}

template std::optional<std::vector<Index>> number_attribute(hid_t, const std::string&,
                                                            const std::string&);
template std::optional<std::vector<double>> number_attribute(hid_t, const std::string&,
                                                             const std::string&);

std::optional<std::string> string_attribute(hid_t object, const std::string& attribute,
                                            const std::string& label) {
  const auto open = open_attribute(object, attribute, label);
  if (!open) return std::nullopt;
  if (H5Tget_class(open->type.get()) != H5T_STRING) {
    throw DataError(
        fmt::format("{} has type {}, want text", open->label, type_class_name(open->type.get())));
  }
  if (open->elements != 1) {
    throw DataError(fmt::format("{} holds {} values, want one text", open->label, open->elements));
  }
  if (H5Tis_variable_str(open->type.get()) > 0) return variable_text(*open);
  const std::vector<std::byte> raw = raw_bytes(*open);
  std::string text(as_text(raw));
  text.resize(strnlen(text.data(), text.size()));
  if (H5Tget_strpad(open->type.get()) == H5T_STR_SPACEPAD) {
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text;
}

std::optional<AttributeKind> attribute_kind(hid_t object, const std::string& attribute,
                                            const std::string& label) {
  const auto open = open_attribute(object, attribute, label);
  if (!open) return std::nullopt;
  if (open->elements != 1) return AttributeKind::kOther;
  if (H5Tget_class(open->type.get()) == H5T_STRING) return AttributeKind::kText;
  const auto type = stored_type(open->type.get());
  if (!type) return AttributeKind::kOther;
  return type->kind == StoredType::Kind::kFloat ? AttributeKind::kReal : AttributeKind::kInteger;
}

std::vector<std::byte> plain_attribute_bytes(hid_t attribute, const std::string& label) {
  OpenAttribute open;
  open.label = label;
  const TypeId type(H5Aget_type(attribute));
  const SpaceId space(H5Aget_space(attribute));
  if (!type.valid() || !space.valid()) fail_damaged(label);
  const auto numbers = stored_type(type.get());
  const bool text = H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
  if (!numbers && !text) return {};
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  const hsize_t each = H5Tget_size(type.get());
  if (elements < 0 || each == 0) fail_damaged(label);
  if (static_cast<hsize_t>(elements) > kMostBytes / each) {
    throw DataError(label + ": an attribute is larger than 1 MiB");
  }
  const std::string kind = fmt::format("{} {} {} ", numbers ? numbers->name() : "text",
                                       H5Sget_simple_extent_ndims(space.get()), elements);
  const std::size_t size = static_cast<std::size_t>(elements) * static_cast<std::size_t>(each);
  if (H5Aget_storage_size(attribute) != size) fail_damaged(label);
  std::vector<std::byte> bytes(kind.size() + size);
  std::memcpy(bytes.data(), kind.data(), kind.size());
  if (size > 0 && H5Aread(attribute, type.get(), bytes.data() + kind.size()) < 0) {
    fail_damaged(label);
  }
  return bytes;
}

}  // namespace attn
