#include "io/npy_header.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kMostAxes = 8;
constexpr Index kMostBytes = Index{1} << 62;

// The header's Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class Dictionary {
 public:
  Dictionary(std::string_view text, const std::string& label) : text_(text), label_(label) {}

  struct Entries {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<Shape> shape;
  };

  Entries read() {
    Entries found;
    want('{');
    while (!take('}')) {
      const std::string key = quoted();
      want(':');
      if (key == "descr" && !found.descr) {
        found.descr = description();
      } else if (key == "fortran_order" && !found.fortran) {
        found.fortran = truth();
      } else if (key == "shape" && !found.shape) {
        found.shape = tuple();
      } else {
        fail("has an unknown or repeated key");
      }
      if (!take(',')) {
        want('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) fail("goes on after its end");
    return found;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw DataError(fmt::format("{}: its .npy header {}", label_, what));
  }
  void skip_blanks() {
    const std::size_t at = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(at == std::string_view::npos ? text_.size() : at);
  }
  bool take(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void want(char c) {
    if (!take(c)) fail("is no dictionary of descr, fortran_order and shape");
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::string quoted() {
    skip_blanks();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = text_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
      fail("is no dictionary of descr, fortran_order and shape");
    }
    const std::string word(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return word;
  }
  // A record's description is a list; what its fields are does not matter.
  std::string description() {
    skip_blanks();
    if (text_.starts_with('[')) {
      throw DataError(label_ + ": is a NumPy record array, want an array of numbers",
                      {"save each field as an array of its own"});
    }
    return quoted();
  }
  bool truth() {
    if (take_word("True")) return true;
    if (!take_word("False")) fail("has a fortran_order that is neither True nor False");
    return false;
  }
  Shape tuple() {
    Shape shape;
    want('(');
    while (!take(')')) {
      skip_blanks();
      Index extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) fail("has an extent that is no count");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      take_word("L");  // Python 2 wrote its long integers so
      shape.push_back(extent);
      if (shape.size() > kMostAxes) {
        throw DataError(fmt::format("{}: has more than {} axes", label_, kMostAxes));
      }
      if (!take(',')) {
        want(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& label_;
};

StoredType standard_type(StoredType::Kind kind, DType type) {
  StoredType stored;
  stored.kind = kind;
  stored.type = type;
  stored.size = static_cast<std::size_t>(dtype_bytes(type));
  stored.precision = stored.size * 8;
  stored.standard = true;
  return stored;
}

std::optional<StoredType> number_type(char kind, std::size_t size) {
  using Kind = StoredType::Kind;
  const auto pick = [&](Kind stored_kind, DType one, DType two, DType four,
                        DType eight) -> std::optional<StoredType> {
    switch (size) {
      case 1:
        return standard_type(stored_kind, one);
      case 2:
        return standard_type(stored_kind, two);
      case 4:
        return standard_type(stored_kind, four);
      case 8:
        return standard_type(stored_kind, eight);
      default:
        return std::nullopt;
    }
  };
  switch (kind) {
    case 'f':
      if (size == 1) return std::nullopt;
      return pick(Kind::kFloat, DType::kF16, DType::kF16, DType::kF32, DType::kF64);
    case 'i':
      return pick(Kind::kSigned, DType::kI8, DType::kI16, DType::kI32, DType::kI64);
    case 'u':
      return pick(Kind::kUnsigned, DType::kU8, DType::kU16, DType::kU32, DType::kU64);
    case 'b':
      if (size != 1) return std::nullopt;
      return standard_type(Kind::kUnsigned, DType::kBool);
    case 'V':
      if (size != 2) return std::nullopt;
      return standard_type(Kind::kFloat, DType::kBF16);
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse_type(const std::string& descr, const std::string& label) {
  const char kind = descr.size() < 2 ? '\0' : descr[1];
  if (kind == 'O' || descr == "O") {
    throw DataError(label + ": holds Python objects (a pickle), which are never loaded",
                    {"save arrays of numbers: numpy.asarray(x, dtype=numpy.float32)"});
  }
  const char* what = kind == 'c'                  ? "complex numbers"
                     : kind == 'M' || kind == 'm' ? "dates or times"
                     : kind == 'f'                ? "floats of an unusual width"
                                                  : "no numbers that can be read";
  throw DataError(fmt::format("{}: holds {} (NumPy type '{}'), want f2, f4, f8, integers or bool",
                              label, what, escaped(descr, 40)));
}

// "<f4", "|b1", "=i8": byte order, kind, bytes of an item (of U: characters).
void set_type(NpyHeader& header, const std::string& descr, const std::string& label) {
  const std::string_view text(descr);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data() + std::min<std::size_t>(2, text.size()),
                                            text.data() + text.size(), size);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (text.size() < 3 || std::string_view("<>|=").find(text[0]) == std::string_view::npos ||
      !whole) {
    refuse_type(descr, label);
  }
  header.big_endian = text[0] == '>';
  constexpr std::size_t kMostText = std::size_t{1} << 20;
  if (text[1] == 'U' || text[1] == 'S') {
    if (size > kMostText) throw DataError(label + ": holds texts of more than a million letters");
    header.kind = text[1] == 'U' ? NpyHeader::Kind::kUnicode : NpyHeader::Kind::kBytes;
    header.item_bytes = text[1] == 'U' ? 4 * size : size;
    return;
  }
  const auto type = number_type(text[1], size);
  if (!type) refuse_type(descr, label);
  header.type = *type;
  header.type.big_endian = header.big_endian && size > 1;
  header.item_bytes = size;
}

}  // namespace

std::string NpyHeader::type_name() const {
  return kind == Kind::kNumbers ? type.name() : "text";
}

bool is_npy(std::span<const std::byte> bytes) {
  return as_text(bytes).starts_with(kMagic);
}

NpyHeader read_npy_header(std::span<const std::byte> start, const std::string& label) {
  const std::string_view text = as_text(start);
  if (!text.starts_with(kMagic)) throw DataError(label + ": is no .npy file");
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[at]));
  };
  const auto truncated = [&] { throw DataError(label + ": truncated within its .npy header"); };
  if (text.size() < 10) truncated();
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    throw DataError(
        fmt::format("{}: .npy format version {}, this program reads 1 to 3", label, version));
  }
  const std::size_t before = version == 1 ? 10 : 12;
  if (text.size() < before) truncated();
  std::size_t length = byte(8) | byte(9) << 8U;
  if (version > 1) length |= byte(10) << 16U | byte(11) << 24U;
  if (length > kMostNpyHeader - before) {
    throw DataError(fmt::format("{}: its .npy header takes {}, want at most 64 KiB", label,
                                short_size_text(static_cast<Index>(length))));
  }
  if (text.size() - before < length) truncated();
  const Dictionary::Entries found = Dictionary(text.substr(before, length), label).read();
  if (!found.descr || !found.fortran || !found.shape) {
    throw DataError(label + ": its .npy header lacks descr, fortran_order or shape");
  }
  NpyHeader header;
  header.bytes = before + length;
  set_type(header, *found.descr, label);
  header.shape = *found.shape;
  header.fortran = *found.fortran;
  const auto count = checked_product(header.shape);
  const auto bytes = count ? checked_mul(*count, static_cast<Index>(header.item_bytes)) : count;
  if (!bytes || *bytes > kMostBytes) {
    throw DataError(
        fmt::format("{}: shape {} is more than can be counted", label, shape_text(header.shape)));
  }
  header.size = *count;
  return header;
}

}  // namespace attn
