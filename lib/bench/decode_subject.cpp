#include "bench/decode_subject.h"

#include <algorithm>

#include "core/error.h"

namespace attn {

std::string_view cache_name(CacheKind kind) {
  switch (kind) {
    case CacheKind::kNone:
      return "none";
    case CacheKind::kContiguous:
      return "contiguous";
    case CacheKind::kPaged:
      return "paged";
  }
  throw ShapeError("cache: no such kind");
}

std::string way_name(const CacheWay& way) {
  std::string name(cache_name(way.kind));
  return way.types.exact() ? name : name + " " + types_name(way.types);
}

Index keys_seen(Index first, Index last, Index window) {
  const auto sum = [](Index from, Index to) {
    return from > to ? 0 : (from + to) * (to - from + 1) / 2;
  };
  if (window == 0) return sum(first, last);
  const Index growing = std::min(last, window);  // up to here a token sees all
  return sum(first, growing) + std::max<Index>(last - std::max(first - 1, window), 0) * window;
}

}  // namespace attn
