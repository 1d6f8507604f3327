#include "kvcache-size/weights.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/number.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "sizing/cache_type.h"
#include "sizing/safetensors_index.h"
#include "sizing/wide.h"

namespace attn {
namespace {

CacheType weight_type(const SizeOptions& o, const CacheSpec& spec) {
  std::string name = o.weight_dtype;
  if (name.empty()) name = spec.own_type.empty() ? "bf16" : spec.own_type;
  CacheType type = cache_type(name, "--weight-dtype");
  if (type.latent_only || type.by_row || type.head_bytes > 0) {
    throw UsageError(fmt::format("--weight-dtype: {} is a layout of caches", type.name));
  }
  return type;
}

Weights by_size(Index bytes, const SizeOptions& o, const CacheSpec& spec, const std::string& from) {
  const CacheType type = weight_type(o, spec);
  Weights weights{
      .bytes = bytes,
      .bytes_each = static_cast<double>(type.block_bytes) / static_cast<double>(type.block_values)};
  weights.parameters = spec.parameters;
  weights.active = o.active_parameters.value_or(spec.active_parameters);
  weights.text = fmt::format("{} of weights{}", short_size_text(bytes), from);
  return weights;
}

}  // namespace

Weights weights_of(const SizeOptions& o, const CacheSpec& spec) {
  if (o.weights.empty()) return by_size(0, o, spec, "");
  if (o.weights == "auto") {
    if (spec.parameters == 0) {
      throw UsageError(
          fmt::format("--weights auto: {}", spec.no_parameters.empty()
                                                ? "a shape by numbers has no weights to count"
                                                : spec.no_parameters),
          {"--weights SIZE states them, --weights model.safetensors.index.json reads them"});
    }
    const CacheType type = weight_type(o, spec);
    const auto bytes = narrowed((Wide{spec.parameters} * type.block_bytes + type.block_values - 1) /
                                type.block_values);
    if (!bytes) throw UsageError("--weights auto: more than 2^63 bytes");
    return by_size(*bytes, o, spec,
                   fmt::format(" ({} parameters in {})", grouped(spec.parameters), type.name));
  }
  std::error_code ignored;
  if (std::filesystem::is_regular_file(o.weights, ignored)) {
    constexpr Index kLargestIndex = Index{64} << 20;
    const ByteSource source = ByteSource::open(o.weights, kLargestIndex);
    const auto bytes = safetensors_index_bytes(as_text(source.bytes()), source.name());
    if (!bytes) {
      throw DataError(fmt::format("{}: no index of safetensors (metadata.total_size, weight_map)",
                                  source.name()));
    }
    return by_size(*bytes, o, spec, fmt::format(" (by {})", source.name()));
  }
  return by_size(cli::parse_size(o.weights, "--weights", {.lowest = 0}), o, spec, "");
}

}  // namespace attn
