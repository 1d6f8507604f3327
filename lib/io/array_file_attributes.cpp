// Arrays of one number or text at the top of an .npz, which are its attributes.

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "io/array_file.h"
#include "io/convert.h"
#include "io/hdf5_path.h"

namespace attn {

const ArrayFile::Entry* ArrayFile::attribute_entry(std::string_view object,
                                                   const std::string& attribute) const {
  if (!zip_ || clean_path(object) != "/" || attribute.find('/') != std::string::npos) {
    return nullptr;
  }
  const Entry* entry = find(attribute);
  if (entry == nullptr) return nullptr;
  const NpyHeader& about = header(*entry);
  return about.size == 1 && about.shape.size() <= 1 ? entry : nullptr;
}

template <class T>
T ArrayFile::one_number(const Entry& entry) const {
  T value = 0;
  read_rows(entry.path, 0, 1, &value);
  return value;
}

std::string ArrayFile::text_of(const Entry& entry) const {
  const NpyHeader& about = header(entry);
  const std::span<const std::byte> bytes = data(entry);
  std::string text;
  if (about.kind == NpyHeader::Kind::kBytes) {
    text = as_text(bytes);
  } else {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t c = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t from = about.big_endian ? i : 3 - i;
        c = c << 8U | std::to_integer<std::uint32_t>(bytes[at + from]);
      }
      constexpr std::uint32_t kReplacement = 0xfffd;
      text += utf8_character(c <= 0x10ffff ? c : kReplacement);
    }
  }
  const std::size_t last = text.find_last_not_of('\0');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

bool ArrayFile::has_attribute(std::string_view object, const std::string& attribute) const {
  return attribute_entry(object, attribute) != nullptr;
}

std::optional<Index> ArrayFile::int_attribute(std::string_view object,
                                              const std::string& attribute) const {
  const Entry* entry = attribute_entry(object, attribute);
  if (entry == nullptr) return std::nullopt;
  return one_number<Index>(*entry);
}

std::optional<double> ArrayFile::real_attribute(std::string_view object,
                                                const std::string& attribute) const {
  const Entry* entry = attribute_entry(object, attribute);
  if (entry == nullptr) return std::nullopt;
  return one_number<double>(*entry);
}

std::optional<std::string> ArrayFile::text_attribute(std::string_view object,
                                                     const std::string& attribute) const {
  const Entry* entry = attribute_entry(object, attribute);
  if (entry == nullptr) return std::nullopt;
  if (header(*entry).kind == NpyHeader::Kind::kNumbers) {
    throw DataError(label(*entry) + ": want text, it holds a number");
  }
  return text_of(*entry);
}

std::optional<AttributeKind> ArrayFile::attribute_kind(std::string_view object,
                                                       const std::string& attribute) const {
  const Entry* entry = attribute_entry(object, attribute);
  if (entry == nullptr) return std::nullopt;
  const NpyHeader& about = header(*entry);
  if (about.kind != NpyHeader::Kind::kNumbers) return AttributeKind::kText;
  return about.type.kind == StoredType::Kind::kFloat ? AttributeKind::kReal
                                                     : AttributeKind::kInteger;
}

std::vector<std::string> ArrayFile::attributes(std::string_view object) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    const std::string attribute = entry.path.substr(1);
    if (attribute_entry(object, attribute) != nullptr) names.push_back(attribute);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace attn
