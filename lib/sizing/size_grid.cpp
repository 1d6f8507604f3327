#include "sizing/size_grid.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr Index kMostRows = 100'000'000;
constexpr Index kMostShapes = 1'000'000;

Index combinations(std::initializer_list<std::size_t> axes, Index most) {
  std::vector<Index> extents;
  for (const std::size_t axis : axes) extents.push_back(static_cast<Index>(axis));
  const auto count = checked_product(extents);
  if (count && *count <= most) return *count;
  throw UsageError(
      fmt::format("the lists and ranges give more than {} combinations", grouped(most)));
}

template <class T>
const T& at(const std::vector<T>& values, Index i) {
  return values[static_cast<std::size_t>(i)];
}

}  // namespace

std::string TypePair::name() const {
  return keys.name == values.name ? keys.name : keys.name + "/" + values.name;
}

std::vector<CacheSpec> shapes_of(const ShapeAxes& axes) {
  combinations({axes.layers.size(), axes.kv_heads.size(), axes.head_dims.size()}, kMostShapes);
  std::vector<CacheSpec> shapes;
  for (const Index layers : axes.layers) {
    for (const Index kv_heads : axes.kv_heads) {
      for (const Index head_dim : axes.head_dims) {
        shapes.push_back(uniform_spec(layers, kv_heads, head_dim));
      }
    }
  }
  return shapes;
}

CacheSpec merged_layers(const CacheSpec& spec) {
  CacheSpec merged = spec;
  merged.layers.clear();
  for (const LayerRun& run : spec.layers) {
    const auto same = std::find_if(merged.layers.begin(), merged.layers.end(),
                                   [&](const LayerRun& other) { return other.layer == run.layer; });
    if (same == merged.layers.end()) {
      merged.layers.push_back(run);
    } else {
      same->count += run.count;
    }
  }
  return merged;
}

Index token_bytes(const CacheSpec& spec, const TypePair& types) {
  CacheQuestion question;
  question.lengths.encoder_tokens = 1;
  question.key_type = types.keys;
  question.value_type = types.values;
  question.key_type.residual = 0;
  question.value_type.residual = 0;
  const KvBytes bytes = kv_bytes(spec, question);
  return bytes.total - bytes.cross;
}

Index SizeGrid::size() const {
  return combinations({shapes.size(), tokens.size(), encoder_tokens.size(), batches.size(),
                       types.size(), ranks.size()},
                      kMostRows);
}

SizeRow SizeGrid::place(Index row) const {
  SizeRow result;
  const auto next = [&row](std::size_t extent) {
    const Index i = row % static_cast<Index>(extent);
    row /= static_cast<Index>(extent);
    return i;
  };
  result.ranks = at(ranks, next(ranks.size()));
  result.types = next(types.size());
  result.batch = at(batches, next(batches.size()));
  result.encoder_tokens = at(encoder_tokens, next(encoder_tokens.size()));
  result.tokens = at(tokens, next(tokens.size()));
  result.shape = row;
  return result;
}

CacheQuestion SizeGrid::question(Index row) const {
  const SizeRow placed = place(row);
  const TypePair& pair = at(types, placed.types);
  CacheQuestion question;
  question.lengths = {placed.tokens, placed.encoder_tokens, placed.batch};
  question.key_type = pair.keys;
  question.value_type = pair.values;
  question.tensor_parallel = placed.ranks;
  question.runtime = runtime;
  return question;
}

SizeRow SizeGrid::row(Index row) const {
  SizeRow result = place(row);
  result.bytes = kv_bytes(at(merged_, result.shape), question(row));
  result.token_bytes =
      at(token_bytes_, result.shape * static_cast<Index>(types.size()) + result.types);
  return result;
}

KvBytes SizeGrid::ideal(const SizeRow& row) const {
  CacheQuestion question;
  question.lengths = {row.tokens, row.encoder_tokens, row.batch};
  question.key_type = at(types, row.types).keys;
  question.value_type = at(types, row.types).values;
  question.tensor_parallel = row.ranks;
  return kv_bytes(at(merged_, row.shape), question);
}

void SizeGrid::check() {
  (void)size();
  merged_.clear();
  token_bytes_.clear();
  const auto [fewest, most] = std::minmax_element(tokens.begin(), tokens.end());
  const auto [few, many] = std::minmax_element(batches.begin(), batches.end());
  const auto [shortest, longest] =
      std::minmax_element(encoder_tokens.begin(), encoder_tokens.end());
  for (const CacheSpec& shape : shapes) {
    merged_.push_back(merged_layers(shape));
    for (const TypePair& pair : types) {
      for (const Index rank_count : ranks) {
        CacheQuestion question;
        question.key_type = pair.keys;
        question.value_type = pair.values;
        question.tensor_parallel = rank_count;
        question.runtime = runtime;
        question.lengths = {*fewest, *shortest, *few};
        (void)kv_bytes(merged_.back(), question);
        question.lengths = {*most, *longest, *many};
        (void)kv_bytes(merged_.back(), question);
      }
      token_bytes_.push_back(token_bytes(merged_.back(), pair));
    }
  }
}

}  // namespace attn
