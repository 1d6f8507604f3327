#pragma once

#include <string>
#include <string_view>

#include "bench/kv_types.h"
#include "core/index.h"

namespace attn {

/// Where the keys and values of earlier tokens are: nowhere (they are computed again at every
/// step), in one run of rows, or in pages.
enum class CacheKind { kNone, kContiguous, kPaged };

std::string_view cache_name(CacheKind kind);

/// One way of keeping keys and values: where, and how a number is stored. Without a cache they are
/// what was computed.
struct CacheWay {
  CacheKind kind = CacheKind::kContiguous;
  KvTypes types;

  CacheWay() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a kind is a way that stores what was computed
  CacheWay(CacheKind where, KvType keys = KvType::kNative, KvType values = KvType::kNative)
      : kind(where), types{keys, values} {}

  bool operator==(const CacheWay&) const = default;
  bool cached() const { return kind != CacheKind::kNone; }
};

/// "paged", "paged q8_0/q4_0"; the types are left out where they are f32.
std::string way_name(const CacheWay& way);

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
  virtual Index head_dim() const = 0;
  /// Keys that a token sees, itself among them; 0: all.
  virtual Index window() const = 0;

  /// Forgets what the caches hold and the rows counted; append() fills this cache from now on.
  virtual void restart(const CacheWay& way) = 0;
  /// Processes the next `count` tokens after those in the cache; `output` gets the last one's.
  virtual void append(Index count, float* output) = 0;
  /// Processes the first `length` tokens without a cache; `output` gets the last one's.
  virtual void recompute(Index length, float* output) = 0;

  /// Rows that each key projection has multiplied since restart(), by the layers' own counter.
  virtual Index key_rows() const = 0;
  /// Bytes of the keys and values in use, by the cache's own size: with a window those that the
  /// last pass saw.
  virtual Index cache_bytes() const = 0;
  /// Bytes that the cache took for them: its pages, or its whole capacity.
  virtual Index allocated_bytes() const = 0;
  /// Bytes of one token's keys and values in all layers.
  virtual Index token_bytes(const CacheWay& way) const = 0;
  /// Bytes of learned matrices that one step reads, whatever its number of rows.
  virtual Index weight_bytes() const = 0;
  /// Operations (a multiply and an add are two) of `count` tokens after `past` others, whose keys
  /// and values are there: products with matrices, scores and mixing of the keys that are seen.
  virtual double flops(Index past, Index count) const = 0;
};

/// Keys that the tokens first, first + 1, ... last (counted from 1) see together: each sees those
/// up to itself, at most `window` of them; 0: all.
Index keys_seen(Index first, Index last, Index window);

}  // namespace attn
