#include "tensor-make/items.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/provenance.h"
#include "io/tensor_argument.h"

namespace attn {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// "q.npy" -> "q"
std::string stem(const std::string& path) {
  const std::string base = base_name(path);
  const std::size_t dot = base.rfind('.');
  return dot == std::string::npos || dot == 0 ? base : base.substr(0, dot);
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "1x2x3"
std::optional<Shape> shape_of(std::string_view text) {
  Shape shape;
  for (const std::string_view part : split(text, 'x')) {
    const auto extent = number<Index>(part);
    if (!extent || *extent < 0) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

void read_suffix(std::string_view suffix, TensorItem& item, const std::string& word) {
  const bool attribute = item.kind == TensorItem::Kind::kAttribute;
  using As = TensorItem::As;
  if (attribute && suffix == "int") item.as = As::kInt;
  if (attribute && suffix == "real") item.as = As::kReal;
  if (attribute && suffix == "text") item.as = As::kText;
  if (attribute && item.as != As::kLooks) return;
  const auto type = parse_dtype(suffix);
  const auto shape = shape_of(suffix);
  if (!attribute && type && !item.type) {
    item.type = type;
  } else if (!attribute && shape && !item.shape) {
    item.shape = shape;
  } else {
    throw UsageError(fmt::format("'{}': want {}, got '{}'", escaped(word),
                                 attribute ? "int, real or text behind the name"
                                           : "a type (f32 ...) or a shape (1x2x3) behind the name",
                                 escaped(suffix)));
  }
}

TensorItem parse_item(const std::string& word) {
  const std::size_t equals = word.find('=');
  TensorItem item;
  if (equals == std::string::npos) {
    item.kind = TensorItem::Kind::kFile;
    item.value = word;
    if (word != "-" && !tensor_place(word)) {
      throw UsageError(
          fmt::format("'{}' is neither a file nor NAME=TENSOR nor @NAME=VALUE", escaped(word)));
    }
    return item;
  }
  item.value = word.substr(equals + 1);
  std::string left = word.substr(0, equals);
  const std::size_t at = left.rfind('@');
  if (at != std::string::npos) {
    item.kind = TensorItem::Kind::kAttribute;
    item.object = fmt::format("/{}", left.substr(0, at));
    left = left.substr(at + 1);
  }
  const std::vector<std::string_view> parts = split(left, ':');
  (at == std::string::npos ? item.object : item.name) = std::string(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) read_suffix(parts[i], item, word);
  const std::string& named = at == std::string::npos ? item.object : item.name;
  if (named.empty() || named == "/" || item.value.empty()) {
    throw UsageError(fmt::format("'{}': want NAME=TENSOR or @NAME=VALUE", escaped(word)));
  }
  return item;
}

AttributeValue attribute_value(const TensorItem& item) {
  using As = TensorItem::As;
  const auto refuse = [&](const char* want) {
    throw UsageError(
        fmt::format("@{}: want {}, got '{}'", escaped(item.name), want, escaped(item.value)));
  };
  const auto whole = number<Index>(item.value);
  const auto real = number<double>(item.value);
  if (item.as == As::kInt && !whole) refuse("a whole number");
  if (item.as == As::kReal && !real) refuse("a number");
  if (item.as == As::kText) return item.value;
  if (item.as == As::kReal) return *real;
  if (whole) return *whole;
  if (real) return *real;
  if (item.value == "true") return Index{1};
  if (item.value == "false") return Index{0};
  return item.value;
}

StoredTensor read_tensor(const TensorItem& item, const ReadLimits& limits) {
  std::optional<TensorPlace> place = tensor_place(item.value);
  if (item.value == "-") place = TensorPlace{"-", ""};
  if (place) {
    const TensorFile file = TensorFile::open(place->file, limits);
    if (!place->dataset.empty()) return stored_tensor(file, place->dataset);
    return stored_tensor(
        file, file.only_dataset(fmt::format("a dataset is named as {}:/NAME", place->file)));
  }
  const Tensor<double> numbers = tensor_argument(item.value, item.object, limits);
  TensorSet made;
  made.put("x", numbers, DType::kF64);
  return made.tensors().front();
}

}  // namespace

std::vector<TensorItem> parse_items(const std::vector<std::string>& words) {
  std::vector<TensorItem> items;
  std::set<std::string> seen;
  bool stdin_read = false;
  for (const std::string& word : words) {
    TensorItem item = parse_item(word);
    const bool file = item.kind == TensorItem::Kind::kFile;
    if (!file && !seen.insert(item.object + "@" + item.name).second) {
      throw UsageError(fmt::format("'{}': this name was given before", escaped(word)));
    }
    if (item.value == "-" && item.kind != TensorItem::Kind::kAttribute) {
      if (stdin_read) throw UsageError("stdin can be read once: two items are -");
      stdin_read = true;
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<std::string> files_of(const std::vector<TensorItem>& items) {
  std::vector<std::string> files;
  for (const TensorItem& item : items) {
    if (item.kind == TensorItem::Kind::kAttribute) continue;
    if (item.value == "-") files.emplace_back("-");
    if (const auto place = tensor_place(item.value)) files.push_back(place->file);
  }
  return files;
}

std::string history_of(const std::vector<TensorItem>& items) {
  std::string line = "tensor-make";
  const auto word = [&line](const std::string& text) {
    const bool plain = text.find_first_of(" \t\n'\"\\;") == std::string::npos;
    line += plain ? fmt::format(" {}", text) : fmt::format(" '{}'", escaped(text));
  };
  for (const TensorItem& item : items) {
    std::string value = item.value;
    if (const auto place = tensor_place(value);
        place && item.kind != TensorItem::Kind::kAttribute) {
      value = base_name(place->file) + (place->dataset.empty() ? "" : ":" + place->dataset);
    }
    if (item.kind == TensorItem::Kind::kFile) {
      word(value);
      continue;
    }
    std::string left = item.object;
    if (item.kind == TensorItem::Kind::kAttribute) {
      left = (item.object == "/" ? "" : item.object.substr(1)) + "@" + item.name;
    }
    using As = TensorItem::As;
    if (item.as != As::kLooks) {
      left += item.as == As::kInt ? ":int" : item.as == As::kReal ? ":real" : ":text";
    }
    if (item.type) left += fmt::format(":{}", dtype_name(*item.type));
    if (item.shape) {
      left += ':';
      for (std::size_t i = 0; i < item.shape->size(); ++i) {
        left += fmt::format("{}{}", i == 0 ? "" : "x", (*item.shape)[i]);
      }
    }
    word(fmt::format("{}={}", left, value));
  }
  return line;
}

std::string add_item(const TensorItem& item, const ReadLimits& limits, TensorSet& set,
                     std::vector<std::string>& left_out) {
  if (item.kind == TensorItem::Kind::kAttribute) {
    set.put(TensorSet::Attribute{item.object, item.name, attribute_value(item)});
    return "";
  }
  if (item.kind == TensorItem::Kind::kFile) {
    const auto place = tensor_place(item.value);
    const TensorFile file = TensorFile::open(place ? place->file : item.value, limits);
    const bool lone = !file.is_hdf5() && file.has_dataset(ArrayFile::kOnly) &&
                      file.contents(2).objects.size() == 1;
    if (lone && item.value != "-") {
      StoredTensor tensor = stored_tensor(file, ArrayFile::kOnly);
      tensor.path = stem(item.value);
      set.put(std::move(tensor));
      return "";
    }
    if (place && !place->dataset.empty()) {
      set.put(stored_tensor(file, place->dataset));
      return "";
    }
    TensorSet held;
    held.add_all(file, left_out);
    for (const StoredTensor& tensor : held.tensors()) set.put(tensor);
    for (const TensorSet::Attribute& one : held.attributes()) {
      // This program writes its own.
      const bool ours = one.name == "history" || one.name == "tool_version" ||
                        one.name == "content_digest" || one.name == "image_digest";
      if (!(one.object == "/" && ours)) set.put(one);
    }
    return read_history(file);
  }
  StoredTensor tensor = read_tensor(item, limits);
  tensor.path = item.object;
  if (item.shape) {
    if (checked_product(*item.shape) != checked_product(tensor.shape)) {
      throw UsageError(fmt::format("{}: shape {} has no room for the {} given",
                                   escaped(item.object), shape_text(*item.shape),
                                   shape_text(tensor.shape)));
    }
    tensor.shape = *item.shape;
  }
  set.put(item.type ? in_type(tensor, *item.type, escaped(item.object)) : std::move(tensor));
  return "";
}

}  // namespace attn
