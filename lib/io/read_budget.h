#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/index.h"

namespace attn {

/// What a reader may spend on a file and whether it checks the file's own digest.
struct ReadLimits {
  /// Bytes of a stream, of a file, and of all tensors read from it, as numbers in memory.
  Index max_bytes = Index{4} << 30;
  /// A file with a `content_digest` attribute is refused when its content does not match; so is a
  /// zip member whose checksum does not.
  bool verify_digest = true;
};

/// What the tensors of one file have taken of the limit. The sum counts, not each tensor by itself:
/// a hostile file may hold thousands just below. One that is read again counts once.
class ReadBudget {
 public:
  ReadBudget(std::string input, Index max_bytes)
      : input_(std::move(input)), max_bytes_(max_bytes) {}

  /// Throws DataError where `elements` numbers of `bytes_each` are too many.
  void charge(const std::string& path, Index elements, std::size_t bytes_each);

 private:
  std::string input_;
  Index max_bytes_;
  std::map<std::string, Index> charges_;
};

}  // namespace attn
