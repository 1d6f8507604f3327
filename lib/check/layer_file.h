#pragma once

#include "check/case_attributes.h"
#include "check/case_source.h"
#include "check/layer_case.h"

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

/// True where a file, or options, hold the projections of a layer.
bool holds_layer(const TensorFile& file, const CaseNames& names);

/// The root attributes of a layer. DataError as read_case_attributes.
LayerAttributes read_layer_attributes(const TensorFile& file);
/// The rules of its attention; attributes of a layer, and of a model file of one (`arch`
/// attention), are known too.
CaseAttributes read_layer_rules(const TensorFile& file);

LayerAttributes merged(const LayerAttributes& over, const LayerAttributes& under);

/// A whole layer, validated. Matrices are NAME/weight, NAME.weight, NAME_weight or NAME, at the
/// root or under /parameters, with .bias beside them, for NAME q_proj, k_proj, v_proj, or fused
/// qkv_proj, in_proj (PyTorch's MultiheadAttention), c_attn (GPT-2, (in, out)), kv_proj; and
/// out_proj, o_proj or c_proj. /x (batch, rows, features) or /input/x, /context; steps /q /k /v
/// /scores /weights /heads /output, or as the reference files have them under /expected. DataError
/// names what is missing or does not fit.
LayerCase read_layer(const TensorFile& file, const CaseAttributes& rules,
                     const LayerAttributes& attributes, const CaseNames& names,
                     const ReadLimits& limits);

/// The steps of a layer alone, with /x and /context where the file has them, into a layer whose
/// projections are known: what somebody else's run of the same layer recorded. Validates.
void read_layer_steps(const TensorFile& file, const CaseAttributes& rules,
                      const LayerAttributes& attributes, const CaseNames& names,
                      const ReadLimits& limits, LayerCase& layer);

}  // namespace attn
