#include "io/table_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace attn {
namespace {

template <class T>
void append_number(fmt::memory_buffer& text, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    // printf's "-nan" tells nothing.
    if (std::isnan(value)) {
      text.append(std::string_view("nan"));
      return;
    }
  }
  fmt::format_to(std::back_inserter(text), "{}", value);
}

template <class T>
void append_json(fmt::memory_buffer& text, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      text.append(std::string_view("null"));
    } else {
      fmt::format_to(std::back_inserter(text), "{}", static_cast<double>(value));
    }
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

void append_header(fmt::memory_buffer& text, const Shape& shape, const TableStyle& style) {
  const auto line = [&](const std::vector<std::string>& words) {
    text.append(std::string_view("# "));
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0) text.push_back(style.separator);
      text.append(words[i]);
    }
    text.push_back('\n');
  };
  if (!style.title.empty()) line({style.title});
  if (style.long_form) {
    constexpr std::string_view kAxes = "ijklmnop";
    std::vector<std::string> words;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      words.push_back(i < kAxes.size() ? std::string(1, kAxes[i]) : fmt::format("axis{}", i));
    }
    words.emplace_back("value");
    line(words);
  } else if (!style.columns.empty()) {
    line(style.columns);
  }
}

// The next row-major position; false after the last.
bool advance(Shape& at, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++at[axis] < shape[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

template <class T>
void append_nested(fmt::memory_buffer& text, const Shape& shape, std::size_t axis, const T*& next) {
  if (axis == shape.size()) {
    append_json(text, *next++);
    return;
  }
  text.push_back('[');
  for (Index i = 0; i < shape[axis]; ++i) {
    if (i > 0) text.push_back(',');
    append_nested(text, shape, axis + 1, next);
  }
  text.push_back(']');
}

}  // namespace

template <class T>
std::string number_text(T value) {
  fmt::memory_buffer text;
  append_number(text, value);
  return fmt::to_string(text);
}

template <class T>
std::string table_text(const Shape& shape, std::span<const T> values, const TableStyle& style) {
  fmt::memory_buffer text;
  append_header(text, shape, style);
  if (values.empty()) return fmt::to_string(text);
  if (style.long_form) {
    Shape at(shape.size());
    std::size_t n = 0;
    do {
      for (const Index i : at) fmt::format_to(std::back_inserter(text), "{}{}", i, style.separator);
      append_number(text, values[n++]);
      text.push_back('\n');
    } while (advance(at, shape));
    return fmt::to_string(text);
  }
  const std::size_t columns = shape.size() < 2 ? 1 : static_cast<std::size_t>(shape.back());
  for (std::size_t n = 0; n < values.size(); ++n) {
    append_number(text, values[n]);
    text.push_back((n + 1) % columns == 0 ? '\n' : style.separator);
  }
  return fmt::to_string(text);
}

template <class T>
std::string json_values(const Shape& shape, std::span<const T> values) {
  fmt::memory_buffer text;
  const T* next = values.data();
  append_nested(text, shape, 0, next);
  return fmt::to_string(text);
}

#define ATTN_INSTANTIATE(T)                                                             \
  template std::string number_text(T);                                                  \
  template std::string table_text(const Shape&, std::span<const T>, const TableStyle&); \
  template std::string json_values(const Shape&, std::span<const T>);
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
ATTN_INSTANTIATE(std::int64_t)
ATTN_INSTANTIATE(std::uint64_t)
ATTN_INSTANTIATE(std::int32_t)
ATTN_INSTANTIATE(std::uint8_t)
#undef ATTN_INSTANTIATE

}  // namespace attn
