#include "io/contents_walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/hdf5_attributes.h"
#include "io/hdf5_listing.h"
#include "io/stored_dataset.h"
#include "io/stored_type.h"

namespace attn {
namespace {

constexpr std::size_t kMostTextBytes = 200;

template <class T>
std::string values_text(const std::vector<T>& values) {
  constexpr std::size_t kMostValues = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kMostValues); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " ", values[i]);
  }
  if (values.size() > kMostValues) text += fmt::format(" ... ({} values)", values.size());
  return text;
}

std::string attribute_text(hid_t object, const std::string& name) {
  const AttributeId attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  if (!attribute.valid()) return "(damaged)";
  const TypeId type(H5Aget_type(attribute.get()));
  const SpaceId space(H5Aget_space(attribute.get()));
  if (!type.valid() || !space.valid()) return "(damaged)";
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  try {
    if (count == 1 && H5Tget_class(type.get()) == H5T_STRING) {
      std::string text = string_attribute(object, name, "").value_or("");
      if (text.size() > kMostTextBytes) {
        text = fmt::format("{}... ({} bytes)", text.substr(0, kMostTextBytes), text.size());
      }
      return text;
    }
    if (const auto numbers = stored_type(type.get())) {
      return numbers->kind == StoredType::Kind::kFloat
                 ? values_text(number_attribute<double>(object, name, "").value())
                 : values_text(number_attribute<Index>(object, name, "").value());
    }
  } catch (const DataError&) {
    // Large, of many axes, or damaged: the kind says enough.
  }
  return fmt::format("({} of {})", std::max<hssize_t>(count, 0), type_class_name(type.get()));
}

// What is declared, also of what cannot be read.
std::optional<Shape> declared_shape(hid_t dataset) {
  const SpaceId space(H5Dget_space(dataset));
  if (!space.valid() || H5Sget_simple_extent_type(space.get()) == H5S_NULL) return std::nullopt;
  std::array<hsize_t, H5S_MAX_RANK> extents = {};
  const int rank = H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  if (rank < 0) return std::nullopt;
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t extent = extents[static_cast<std::size_t>(axis)];
    if (extent > static_cast<hsize_t>(std::numeric_limits<Index>::max())) return std::nullopt;
    shape.push_back(static_cast<Index>(extent));
  }
  return shape;
}

ObjectInfo describe(const std::string& path, ObjectId object, std::span<const std::byte> image,
                    Index max_bytes) {
  ObjectInfo info;
  info.path = path;
  for (const std::string& name : attribute_names(object.get(), path)) {
    info.attributes.emplace_back(name, attribute_text(object.get(), name));
  }
  const H5I_type_t kind = H5Iget_type(object.get());
  info.kind = kind == H5I_GROUP ? "group" : kind == H5I_DATASET ? "dataset" : "type";
  if (kind != H5I_DATASET) return info;
  const TypeId type(H5Dget_type(object.get()));
  info.type = type.valid() ? type_class_name(type.get()) : "damaged";
  info.shape = declared_shape(object.get());
  try {
    const StoredDataset dataset(std::move(object), path, image, max_bytes);
    info.type = dataset.type().name();
    info.readable = true;
  } catch (const DataError&) {
    // Text, compounds, virtual data ...: listed all the same.
  }
  return info;
}

}  // namespace

FileContents walk_contents(hid_t file, std::span<const std::byte> image, Index most,
                           Index max_bytes) {
  FileContents contents;
  WalkEvents events;
  events.object = [&](const std::string& path, ObjectId object) {
    try {
      contents.objects.push_back(describe(path, std::move(object), image, max_bytes));
    } catch (const DataError& error) {
      contents.objects.push_back({path, "damaged", error.what(), std::nullopt, false, {}});
    }
  };
  events.link = [&](const std::string& path, const std::string& target) {
    contents.objects.push_back({path, "link", target, std::nullopt, false, {}});
  };
  events.damage = [&](const std::string& path, const DataError& error) {
    contents.objects.push_back({path, "damaged", error.what(), std::nullopt, false, {}});
  };
  contents.complete = walk_objects(file, most, "", events);
  return contents;
}

// CBOR: names of strangers need not be UTF-8, so texts travel as byte strings.
namespace {

nlohmann::json bytes_of(const std::string& text) {
  return nlohmann::json::binary({text.begin(), text.end()});
}
std::string text_of(const nlohmann::json& value) {
  const auto& bytes = value.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string pack(const FileContents& contents) {
  nlohmann::json objects = nlohmann::json::array();
  for (const ObjectInfo& info : contents.objects) {
    nlohmann::json attributes = nlohmann::json::array();
    for (const auto& [name, value] : info.attributes) {
      attributes.push_back({bytes_of(name), bytes_of(value)});
    }
    nlohmann::json shape;
    if (info.shape) shape = *info.shape;
    objects.push_back({bytes_of(info.path), bytes_of(info.kind), bytes_of(info.type), shape,
                       info.readable, attributes});
  }
  std::string bytes;
  nlohmann::json::to_cbor({contents.complete, objects}, bytes);
  return bytes;
}

FileContents unpack(const std::string& bytes) {
  FileContents contents;
  try {
    const nlohmann::json all = nlohmann::json::from_cbor(bytes);
    contents.complete = all.at(0).get<bool>();
    for (const auto& object : all.at(1)) {
      ObjectInfo info = {text_of(object.at(0)), text_of(object.at(1)),    text_of(object.at(2)),
                         std::nullopt,          object.at(4).get<bool>(), {}};
      if (!object.at(3).is_null()) info.shape = object.at(3).get<Shape>();
      for (const auto& attribute : object.at(5)) {
        info.attributes.emplace_back(text_of(attribute.at(0)), text_of(attribute.at(1)));
      }
      contents.objects.push_back(std::move(info));
    }
  } catch (const nlohmann::json::exception&) {
    throw DataError("the list of what the file holds came back cut short");
  }
  return contents;
}

}  // namespace attn
