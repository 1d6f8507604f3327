#pragma once

#include <string_view>

#include "core/index.h"

namespace attn {

/// Where the keys and values of earlier tokens are: nowhere (they are computed again at every
/// step), in one run of rows, or in pages.
enum class CacheKind { kNone, kContiguous, kPaged };

std::string_view cache_name(CacheKind kind);

/// Something that decodes token after token: one attention layer, or a whole model. Its tokens are
/// given beforehand (drawn by a seed), so that every way of processing them does the same work.
/// Outputs are `width` numbers: the layer's output or the model's logits.
class DecodeSubject {
 public:
  DecodeSubject() = default;
  DecodeSubject(const DecodeSubject&) = delete;
  DecodeSubject& operator=(const DecodeSubject&) = delete;
  virtual ~DecodeSubject() = default;

  virtual Index width() const = 0;
  virtual Index layers() const = 0;
  virtual Index heads() const = 0;
  virtual Index kv_heads() const = 0;

  /// Forgets what the caches hold and the rows counted; append() fills this cache from now on.
  virtual void restart(CacheKind cache) = 0;
  /// Processes the next `count` tokens after those in the cache; `output` gets the last one's.
  virtual void append(Index count, float* output) = 0;
  /// Processes the first `length` tokens without a cache; `output` gets the last one's.
  virtual void recompute(Index length, float* output) = 0;

  /// Rows that each key projection has multiplied since restart(), by the layers' own counter.
  virtual Index key_rows() const = 0;
  /// Bytes of the keys and values that the cache holds now, by the cache's own size.
  virtual Index cache_bytes() const = 0;
  /// Bytes that the cache took for them: its pages, or its whole capacity.
  virtual Index allocated_bytes() const = 0;
  /// Bytes of learned matrices that one step reads, whatever its number of rows.
  virtual Index weight_bytes() const = 0;
};

}  // namespace attn
