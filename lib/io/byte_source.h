#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/index.h"

namespace attn {

/// All bytes of an input. A regular file is mapped privately, everything else (stdin for "-", a
/// FIFO, <(command)) is read to its end.
class ByteSource {
 public:
  /// Throws UsageError for a terminal, DataError for what cannot be read, is empty, or is larger
  /// than max_bytes.
  static ByteSource open(const std::string& argument, Index max_bytes);
  static ByteSource from_bytes(std::vector<std::byte> bytes, const std::string& name);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&& other) noexcept;
  ~ByteSource();

  /// The path as given (safe to print), or "stdin".
  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return view_; }
  /// These bytes are not needed for a while: of a mapped file the memory is given back, and they
  /// are read again when looked at. So one pass over a file of any size takes little memory.
  void forget(Index first, Index count) const;

 private:
  ByteSource() = default;
  void map(int descriptor, Index size);
  void read_stream(int descriptor, Index max_bytes);

  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  std::string name_;
  std::unique_ptr<std::byte, Free> stream_;  // what was read
  std::vector<std::byte> owned_;             // what was given
  std::span<const std::byte> view_;
  bool mapped_ = false;
};

/// What messages call an input or output argument: "stdin" for "-", else the path, safe to print.
std::string input_name(const std::string& argument);

}  // namespace attn
