#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Builds a NumPy archive as numpy.savez does: .npy files stored in a zip archive. Dates are those
/// that zip begins with (1980-01-01), so that the same arrays give the same bytes.
class NpzWriter {
 public:
  /// Adds an array (npy_bytes) under its key; keys differ and are no longer than 65000 bytes.
  /// ShapeError for an archive of 4 GiB or more.
  void add(std::string_view key, std::span<const std::byte> npy);
  /// The whole file. The writer is empty afterwards.
  std::vector<std::byte> finish();

 private:
  std::string members_;
  std::string directory_;
  std::size_t count_ = 0;
};

}  // namespace attn
