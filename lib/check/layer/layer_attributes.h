#pragma once

#include <optional>
#include <string_view>

#include "check/cases/case_attributes.h"
#include "check/layer/layer_case.h"

namespace attn {

/// How a fused matrix holds its rows: all of q, all of k, all of v; or, for each key-value head,
/// its query heads, its key, its value (GPT-NeoX, BLOOM, Falcon).
enum class FusedOrder { kBlocks, kHeads };

/// What a file says of a layer beside the rules of its attention, as root attributes or options.
struct LayerAttributes {
  std::optional<Index> head_dim;           // rows of q_proj / heads unless given
  std::optional<RopePairs> rope_style;     // none: no rotation
  std::optional<double> rope_base;         // 10000 unless given
  std::optional<Index> rotary_dim;         // head_dim unless given
  std::optional<Index> pos0;               // position of row 0; 0 unless given
  std::optional<bool> weights_transposed;  // matrices are (in, out)
  std::optional<FusedOrder> fused_order;
  std::optional<QkStage> qk_stage;  // where recorded q and k stand
};

std::optional<FusedOrder> parse_fused_order(std::string_view word);
std::optional<QkStage> parse_qk_stage(std::string_view word);

/// The root attributes of a layer. DataError as read_case_attributes.
LayerAttributes read_layer_attributes(const TensorFile& file);
/// The rules of its attention; attributes of a layer, and of a model file of one (`arch`
/// attention), are known too.
CaseAttributes read_layer_rules(const TensorFile& file);

LayerAttributes merged(const LayerAttributes& over, const LayerAttributes& under);

}  // namespace attn
