#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/index.h"
#include "core/tensor.h"

namespace attn {

/// The name of the root attribute.
inline constexpr const char* kDigestAttribute = "content_digest";

/// XXH3-128 over what a file holds, whatever the order or layout in which it holds it: one hash for
/// each dataset (path, type, shape, bytes) and each plain attribute (path, name, type, bytes), and
/// one hash over those in the order of their names. Damage that changes no name, shape, number or
/// text is none; a repacked file keeps its digest.
class ContentDigest {
 public:
  /// `type` as DatasetInfo::type_name has it.
  void dataset(const std::string& path, std::string_view type, const Shape& shape,
               std::span<const std::byte> bytes);
  /// `bytes` as plain_attribute_bytes has them; the digests' own attributes are left out.
  void attribute(const std::string& object, const std::string& name,
                 std::span<const std::byte> bytes);
  /// "xxh3-128:" and 32 hexadecimal digits.
  std::string text() const;
  /// As long as text(), to be replaced by it.
  static std::string zero();

 private:
  std::map<std::pair<std::string, std::string>, std::string> hashes_;
};

}  // namespace attn
