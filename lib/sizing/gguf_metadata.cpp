#include "sizing/gguf_metadata.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// The types of values, by their numbers in the file.
enum ValueType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// Reads forward and never past the end.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& name) : rest_(bytes), name_(name) {}

  template <class T>
  T take() {
    T value{};
    const std::string_view bytes = take_bytes(sizeof(T));
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      throw DataError(fmt::format("{}: its GGUF metadata are cut off", name_));
    }
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(static_cast<std::size_t>(count));
    return bytes;
  }
  std::string_view take_string() { return take_bytes(take<std::uint64_t>()); }

 private:
  std::string_view rest_;
  const std::string& name_;
};

std::size_t width_of(std::uint32_t type) {
  switch (type) {
    case kU8:
    case kI8:
    case kBool:
      return 1;
    case kU16:
    case kI16:
      return 2;
    case kU32:
    case kI32:
    case kF32:
      return 4;
    case kU64:
    case kI64:
    case kF64:
      return 8;
    default:
      return 0;
  }
}

// A whole number of that type; nothing for fractions and what does not fit.
std::optional<Index> take_number(Cursor& cursor, std::uint32_t type) {
  switch (type) {
    case kU8:
    case kBool:
      return cursor.take<std::uint8_t>();
    case kI8:
      return cursor.take<std::int8_t>();
    case kU16:
      return cursor.take<std::uint16_t>();
    case kI16:
      return cursor.take<std::int16_t>();
    case kU32:
      return cursor.take<std::uint32_t>();
    case kI32:
      return cursor.take<std::int32_t>();
    case kI64:
      return cursor.take<std::int64_t>();
    case kU64: {
      const auto value = cursor.take<std::uint64_t>();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
        return std::nullopt;
      return static_cast<Index>(value);
    }
    default:
      cursor.take_bytes(width_of(type));
      return std::nullopt;
  }
}

}  // namespace

GgufMetadata::GgufMetadata(std::string_view bytes, std::string name) : name_(std::move(name)) {
  constexpr std::uint64_t kMostKept = 4096;  // layers; a vocabulary is skipped
  Cursor cursor(bytes, name_);
  if (cursor.take_bytes(4) != "GGUF") refuse("not a GGUF file");
  const auto version = cursor.take<std::uint32_t>();
  if (version < 2 || version > 3) refuse(fmt::format("GGUF version {} is not supported", version));
  cursor.take<std::uint64_t>();  // tensors
  const auto count = cursor.take<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key(cursor.take_string());
    const auto type = cursor.take<std::uint32_t>();
    if (texts_.contains(key) || numbers_.contains(key)) {
      refuse(fmt::format("says '{}' twice", escaped(key)));
    }
    if (type == kString) {
      texts_[key] = std::string(cursor.take_string());
    } else if (type == kArray) {
      const auto element = cursor.take<std::uint32_t>();
      const auto length = cursor.take<std::uint64_t>();
      if (element == kString) {
        for (std::uint64_t k = 0; k < length; ++k) cursor.take_string();
      } else if (width_of(element) == 0) {
        refuse(
            fmt::format("'{}' is a list of a type that is not known: {}", escaped(key), element));
      } else if (length > kMostKept) {
        if (length > bytes.size()) refuse("its GGUF metadata are cut off");
        cursor.take_bytes(length * width_of(element));
      } else {
        std::vector<Index> values;
        for (std::uint64_t k = 0; k < length; ++k) {
          if (const auto value = take_number(cursor, element)) values.push_back(*value);
        }
        if (values.size() == length) numbers_[key] = std::move(values);
      }
    } else if (width_of(type) == 0) {
      refuse(fmt::format("'{}' has a type that is not known: {}", escaped(key), type));
    } else if (const auto value = take_number(cursor, type)) {
      numbers_[key] = {*value};
    }
  }
}

void GgufMetadata::refuse(const std::string& why) const {
  throw DataError(fmt::format("{}: {}", name_, why),
                  {"state the shape instead: --layers N --kv-heads N --head-dim N"});
}

std::optional<std::string> GgufMetadata::text(const std::string& key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Index> GgufMetadata::number(const std::string& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end() || found->second.size() != 1) return std::nullopt;
  return found->second.front();
}

std::optional<std::vector<Index>> GgufMetadata::numbers(const std::string& key) const {
  const auto found = numbers_.find(key);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace attn
