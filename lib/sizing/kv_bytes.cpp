#include "sizing/kv_bytes.h"

#include <fmt/core.h>

#include <array>
#include <optional>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

[[noreturn]] void throw_too_large(Index tokens, Index batch) {
  throw UsageError(fmt::format("too large: the cache of {} x {} tokens has more than 2^63 bytes",
                               grouped(batch), grouped(tokens)));
}

// Bytes of the rows that `count` equal layers keep of keys (or of values).
std::optional<Index> rows_bytes(Index count, Index entries, Index kv_heads, Index head_dim,
                                Index batch, const CacheType& type) {
  if (head_dim % type.block_values != 0) {
    throw UsageError(fmt::format("{} stores blocks of {} values: {} does not divide a head of {}",
                                 type.name, type.block_values, type.block_values, head_dim));
  }
  const std::array<Index, 6> factors = {
      count, entries, kv_heads, head_dim / type.block_values, batch, type.block_bytes};
  return checked_product(factors);
}

}  // namespace

KvBytes kv_bytes(const CacheSpec& spec, Index tokens, Index batch, const CacheType& type) {
  if (tokens < 1) throw UsageError(fmt::format("tokens must be 1 or more: {}", tokens));
  if (batch < 1) throw UsageError(fmt::format("batch must be 1 or more: {}", batch));
  KvBytes sum;
  const auto add = [&](Index& total, std::optional<Index> more) {
    const auto next = more ? checked_add(total, *more) : std::nullopt;
    if (!next) throw_too_large(tokens, batch);
    total = *next;
  };
  for (const LayerRun& run : spec.layers) {
    const LayerCache& layer = run.layer;
    const Index entries = layer.entries(tokens);
    add(sum.keys, rows_bytes(run.count, entries, layer.kv_heads, layer.key_dim, batch, type));
    add(sum.values, rows_bytes(run.count, entries, layer.kv_heads, layer.value_dim, batch, type));
  }
  sum.total = sum.keys;
  add(sum.total, sum.values);
  return sum;
}

}  // namespace attn
