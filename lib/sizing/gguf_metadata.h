#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// The metadata of a GGUF file (version 2 or 3, little-endian; ggml-org/ggml docs/gguf.md): whole
/// numbers, lists of them, and texts. Fractions and lists of texts are skipped. Every length is
/// checked against the bytes that are there.
class GgufMetadata {
 public:
  GgufMetadata(std::string_view bytes, std::string name);

  const std::string& name() const { return name_; }
  std::optional<std::string> text(const std::string& key) const;
  std::optional<Index> number(const std::string& key) const;
  /// A list; a single number is a list of one.
  std::optional<std::vector<Index>> numbers(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string name_;
  std::map<std::string, std::vector<Index>> numbers_;
  std::map<std::string, std::string> texts_;
};

}  // namespace attn
