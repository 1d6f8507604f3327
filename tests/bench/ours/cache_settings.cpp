#include "cache_settings.h"

#include "core/error.h"

namespace attn {
namespace {

KvType type_of(Settings& settings, const char* key) {
  const std::string name = settings.text(key, "f32");
  const std::optional<KvType> type = parse_kv_type(name);
  if (!type) throw UsageError("no such type of cached numbers: " + name);
  return *type;
}

}  // namespace

CacheSettings cache_settings(Settings& settings) {
  CacheSettings made;
  const std::string kind = settings.text("cache", "contiguous");
  if (kind != "contiguous" && kind != "paged" && kind != "none") {
    throw UsageError("cache is contiguous, paged or none: " + kind);
  }
  made.cached = kind != "none";
  if (kind == "paged") made.layout.page_size = settings.number("page_size", kPageRows);
  made.layout.k_type = type_of(settings, "k_type");
  made.layout.v_type = type_of(settings, "v_type");
  made.scattered = settings.number("scattered", 0) != 0;
  return made;
}

}  // namespace attn
