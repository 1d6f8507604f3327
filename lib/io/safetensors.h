#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.h"
#include "io/safetensors_header.h"

namespace attn {

/// One safetensors file: 8 bytes of little-endian header length, a JSON header, the data
/// (https://github.com/huggingface/safetensors, "Format"). A file is mapped, not read; what its
/// header declares is compared with the bytes that are there before anything is taken for it.
class SafetensorsFile {
 public:
  /// A file, a FIFO, or stdin for "-". Throws UsageError for a terminal, and DataErrors that name
  /// the file, and the tensor where one is to blame, for what breaks a rule of the format.
  static SafetensorsFile open(const std::string& argument, Index max_bytes);
  explicit SafetensorsFile(ByteSource source);
  static SafetensorsFile from_bytes(std::vector<std::byte> bytes, const std::string& name);

  /// The input as messages call it.
  const std::string& name() const { return source_.name(); }
  /// As the header lists them.
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// The numbers of an entry of this file, row-major, as float or double. F32, F16, BF16 and F64;
  /// F64 rounds to a float's nearest. DataError for another type, and for a number that is not
  /// finite (as T), with its place.
  template <class T>
  void read(const SafetensorsEntry& entry, T* out) const;

 private:
  ByteSource source_;
  SafetensorsHeader header_;
  Index data_ = 0;  // where the data begin
};

}  // namespace attn
