#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace attn {

/// XXH3-128 (Collet, xxHash 0.8), a fast hash against accidents, not against forgers.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  XXH3_state_s* state_;
};

inline constexpr std::size_t kXxh3Digits = 32;

}  // namespace attn
