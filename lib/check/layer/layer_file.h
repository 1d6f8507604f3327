#pragma once

#include "check/cases/case_attributes.h"
#include "check/cases/case_source.h"
#include "check/layer/layer_attributes.h"
#include "check/layer/layer_case.h"

namespace attn {

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
