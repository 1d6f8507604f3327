#include "sizing/checkpoint_shape.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

Index count_attribute(const Hdf5Reader& file, const char* name) {
  const auto value = file.int_attribute("/", name);
  if (!value) {
    throw DataError(fmt::format("{}: no attribute '{}', so it is no checkpoint", file.name(), name),
                    {"a checkpoint has depth, kv_heads and head_dim at its root"});
  }
  if (*value < 1) {
    throw DataError(
        fmt::format("{}: attribute '{}' must be 1 or more: {}", file.name(), name, *value));
  }
  return *value;
}

}  // namespace

CacheSpec checkpoint_shape(const Hdf5Reader& file) {
  const std::string arch = file.text_attribute("/", "arch").value_or("decoder");
  const bool two = arch == "encoder_decoder";
  if (arch != "decoder" && arch != "encoder" && !two) {
    throw DataError(
        fmt::format("{}: wanted a transformer, its arch is '{}'", file.name(), escaped(arch)),
        {"state the shape instead: --layers N --kv-heads N --head-dim N"});
  }
  const Index depth = count_attribute(file, "depth");
  const Index kv_heads = count_attribute(file, "kv_heads");
  const Index head_dim = count_attribute(file, "head_dim");
  CacheSpec spec;
  if (arch == "encoder") {
    spec.add({.kind = "encoder"}, depth);  // sees all tokens at once and keeps nothing
  } else {
    LayerCache layer = full_layer(kv_heads, head_dim, head_dim);
    if (two) {
      layer.kind = "self and cross";
      layer.rows.push_back(layer.rows.front());
      layer.rows.back().span = CacheRows::Span::kEncoder;
    }
    spec.add(layer, depth);
  }
  spec.family = "attntools " + arch;
  spec.cache_type = "f32";
  spec.facts = {{"layers", depth, "depth"},
                {"kv heads", kv_heads, "kv_heads"},
                {"head dim", head_dim, "head_dim"}};
  return spec;
}

}  // namespace attn
