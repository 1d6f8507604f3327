#pragma once

#include <string>

#include "nn/kv_type.h"

namespace attn {

/// How cached keys and values are stored.
struct KvTypes {
  KvType keys = KvType::kNative;
  KvType values = KvType::kNative;

  bool operator==(const KvTypes&) const = default;
  /// Are numbers stored as they were computed?
  bool exact() const { return keys == KvType::kNative && values == KvType::kNative; }
};

/// "f32", or "q8_0/q4_0" where keys and values differ.
std::string types_name(const KvTypes& types);
/// "f32/f32", "q8_0/q4_0": keys and values, alike or not.
std::string both_types_name(const KvTypes& types);

}  // namespace attn
