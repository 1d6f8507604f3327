#include "io/safetensors_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"

namespace attn {
namespace {

constexpr std::string_view kMetadataName = "__metadata__";
constexpr std::size_t kMostNames = 1000000;  // tensors, or texts of __metadata__
constexpr std::size_t kMostAxes = 64;
constexpr std::size_t kDeepest = 100;

struct StoredWidth {
  std::string_view name;
  Index bytes;
  std::optional<DType> type;
};

constexpr StoredWidth kTypes[] = {
    {"BOOL", 1, DType::kBool}, {"U8", 1, DType::kU8},        {"I8", 1, DType::kI8},
    {"U16", 2, DType::kU16},   {"I16", 2, DType::kI16},      {"F16", 2, DType::kF16},
    {"BF16", 2, DType::kBF16}, {"U32", 4, DType::kU32},      {"I32", 4, DType::kI32},
    {"F32", 4, DType::kF32},   {"U64", 8, DType::kU64},      {"I64", 8, DType::kI64},
    {"F64", 8, DType::kF64},   {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt}};

const StoredWidth* find_type(std::string_view name) {
  for (const StoredWidth& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

// A shape that a stranger wrote, whatever its length.
std::string shown(const Shape& shape) {
  constexpr std::size_t kMostShown = 8;
  return shape.size() <= kMostShown ? shape_text(shape)
                                    : fmt::format("of {} dimensions", shape.size());
}

// Builds the entries from the events of nlohmann's parser.
class HeaderEvents {
 public:
  HeaderEvents(const std::string& file, SafetensorsHeader& header) : file_(file), header_(header) {}

  bool null() { return scalar("null"); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) {
    return value >= 0 ? number(value) : scalar(fmt::format("{}", value));
  }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
      return scalar(fmt::format("{}", value));
    }
    return number(static_cast<Index>(value));
  }
  bool number_float(double, const std::string& digits) { return scalar(escaped(digits, 40)); }
  bool binary(std::vector<std::uint8_t>&) { return scalar("bytes"); }
  bool string(std::string& value) {
    if (place() == Place::kMetadata) {
      header_.metadata.emplace(name_, std::move(value));
    } else if (place() == Place::kEntry && field_ == "dtype") {
      set_type(value);
    } else {
      return scalar(fmt::format("'{}'", escaped(value, 40)));
    }
    return true;
  }

  bool key(std::string& name) {
    if (!names_.back().insert(name).second) {
      fail(place() == Place::kHeader
               ? fmt::format("'{}' stands there twice", escaped(name))
               : fmt::format("{}'{}' stands there twice",
                             place() == Place::kEntry ? of_tensor() : "", escaped(name)));
    }
    if (names_.back().size() > kMostNames) {
      fail(fmt::format("more than {} names in one object", kMostNames));
    }
    (place() == Place::kEntry ? field_ : name_) = name;
    return true;
  }

  bool start_object(std::size_t) {
    switch (place()) {
      case Place::kOutside:
        open(Place::kHeader);
        break;
      case Place::kHeader:
        if (name_ == kMetadataName) {
          open(Place::kMetadata);
        } else {
          header_.entries.emplace_back();
          header_.entries.back().name = name_;
          tensor_ = name_;
          open(Place::kEntry);
        }
        break;
      case Place::kEntry:
        if (is_field()) wrong_value("an object");
        open(Place::kOther);
        break;
      case Place::kOther:
        open(Place::kOther);
        break;
      case Place::kMetadata:
      case Place::kShape:
      case Place::kOffsets:
        wrong_value("an object");
    }
    names_.emplace_back();
    return true;
  }

  bool end_object() {
    if (place() == Place::kEntry) finish_entry();
    places_.pop_back();
    names_.pop_back();
    return true;
  }

  bool start_array(std::size_t) {
    if (place() == Place::kEntry && field_ == "shape") {
      open(Place::kShape);
    } else if (place() == Place::kEntry && field_ == "data_offsets") {
      open(Place::kOffsets);
    } else if (place() == Place::kOther || (place() == Place::kEntry && !is_field())) {
      open(Place::kOther);
    } else {
      wrong_value("a list");
    }
    return true;
  }

  bool end_array() {
    if (place() == Place::kOffsets && offsets_.size() != 2) wrong_offsets();
    places_.pop_back();
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    fail(fmt::format("the header is not JSON: it breaks at its byte {}", at));
  }

 private:
  // Where the next event belongs: inside what the file has opened and not closed.
  enum class Place { kOutside, kHeader, kMetadata, kEntry, kShape, kOffsets, kOther };

  Place place() const { return places_.empty() ? Place::kOutside : places_.back(); }
  void open(Place place) {
    if (places_.size() >= kDeepest) {
      fail(fmt::format("the header's JSON is nested more than {} levels deep", kDeepest));
    }
    places_.push_back(place);
  }
  bool is_field() const {
    return field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
  }

  bool number(Index value) {
    if (place() == Place::kShape) {
      Shape& shape = header_.entries.back().shape;
      if (shape.size() >= kMostAxes) {
        fail(fmt::format("{}shape has more than {} dimensions", of_tensor(), kMostAxes));
      }
      shape.push_back(value);
    } else if (place() == Place::kOffsets) {
      offsets_.push_back(value);
      if (offsets_.size() > 2) wrong_offsets();
    } else {
      return scalar(fmt::format("{}", value));
    }
    return true;
  }

  // A value that is no list, no object and has no use where it stands.
  bool scalar(const std::string& value) {
    const bool idle = place() == Place::kOther || (place() == Place::kEntry && !is_field());
    if (!idle) wrong_value(value);
    return true;
  }

  [[noreturn]] void wrong_value(const std::string& value) const {
    switch (place()) {
      case Place::kMetadata:
        fail(fmt::format("the header's {} may hold text only: '{}' is {}", kMetadataName,
                         escaped(name_), value));
      case Place::kEntry:
        fail(fmt::format("{}{} must be {}, got {}", of_tensor(), field_,
                         field_ == "dtype"   ? "a type such as F32"
                         : field_ == "shape" ? "a list of whole numbers"
                                             : "a list of two whole numbers",
                         value));
      case Place::kShape:
        fail(fmt::format("{}shape must hold whole numbers from 0, got {}", of_tensor(), value));
      case Place::kOffsets:
        fail(fmt::format("{}data_offsets must be two whole numbers from 0, got {}", of_tensor(),
                         value));
      case Place::kHeader:
        fail(
            fmt::format("'{}': the header wants an object with dtype, shape and data_offsets, "
                        "got {}",
                        escaped(name_), value));
      case Place::kOutside:
      case Place::kOther:
        break;
    }
    fail("the header is not a JSON object");
  }
  [[noreturn]] void wrong_offsets() const {
    fail(fmt::format("{}data_offsets must be two whole numbers, got {}", of_tensor(),
                     offsets_.size() > 2 ? "more" : fmt::format("{}", offsets_.size())));
  }

  void set_type(const std::string& name) {
    const StoredWidth* type = find_type(name);
    if (type == nullptr) {
      fail(fmt::format("{}unknown dtype '{}'", of_tensor(), escaped(name, 40)));
    }
    header_.entries.back().type_name = name;
    header_.entries.back().type = type->type;
  }

  void finish_entry() {
    const std::set<std::string>& fields = names_.back();
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (fields.count(field) == 0) fail(fmt::format("{}lacks {}", of_tensor(), field));
    }
    header_.entries.back().begin = offsets_[0];
    header_.entries.back().end = offsets_[1];
    offsets_.clear();
  }

  std::string of_tensor() const { return fmt::format("'{}': ", escaped(tensor_)); }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", file_, what));
  }

  const std::string& file_;
  SafetensorsHeader& header_;
  std::vector<Place> places_;
  std::vector<std::set<std::string>> names_;  // of each object around
  std::string name_;                          // the last key of the header or of __metadata__
  std::string tensor_;                        // whose entry is being read
  std::string field_;                         // the entry's last key
  std::vector<Index> offsets_;
};

// Its own bytes: inside the data, and as many as its shape says.
void check_span(const SafetensorsEntry& entry, Index data_bytes, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("{}: '{}': {}", file, escaped(entry.name), what));
  };
  const std::string offsets = fmt::format("data_offsets [{}, {}]", entry.begin, entry.end);
  if (entry.begin > entry.end) fail(offsets + " end before they begin");
  if (entry.end > data_bytes) {
    fail(fmt::format("{} go beyond the {} bytes of data", offsets, data_bytes));
  }
  const auto count = checked_product(entry.shape);
  const auto bytes = count ? checked_mul(*count, find_type(entry.type_name)->bytes) : std::nullopt;
  if (bytes != entry.end - entry.begin) {
    fail(fmt::format("shape {} of {} is {}, {} span {}", shown(entry.shape), entry.type_name,
                     bytes ? fmt::format("{} bytes", *bytes) : "too large for 63 bits", offsets,
                     entry.end - entry.begin));
  }
}

void check_cover(const SafetensorsHeader& header, Index data_bytes, const std::string& file) {
  std::vector<const SafetensorsEntry*> order;
  order.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  Index covered = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin != covered) {
      throw DataError(fmt::format("{}: '{}': data_offsets [{}, {}] {}, which ends at {}", file,
                                  escaped(entry->name), entry->begin, entry->end,
                                  entry->begin < covered ? "overlap the tensor before"
                                                         : "leave a gap after the data before",
                                  covered));
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    throw DataError(fmt::format("{}: {} bytes after the last tensor belong to none", file,
                                data_bytes - covered));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, Index data_bytes,
                                           const std::string& file) {
  require_plain_json(text, file + ": header");
  SafetensorsHeader header;
  HeaderEvents events(file, header);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events);
  for (const SafetensorsEntry& entry : header.entries) check_span(entry, data_bytes, file);
  check_cover(header, data_bytes, file);
  return header;
}

std::string_view safetensors_type_name(DType type) {
  for (const StoredWidth& known : kTypes) {
    if (known.type == type) return known.name;
  }
  throw ShapeError("safetensors: no such type");
}

}  // namespace attn
