#pragma once

#include "check/cases/case_source.h"
#include "check/layer/layer_attributes.h"
#include "check/layer/layer_case.h"

namespace attn {

/// True where a file, or options, hold the projections of a layer.
bool holds_layer(const TensorFile& file, const CaseNames& names);

/// Fills the projections of a layer whose x, heads and kv_heads are known, from matrices named as
/// read_layer (layer_file.h) says; a fused one is cut. DataError for one that is missing, or whose
/// rows the heads do not divide.
void read_projections(const TensorFile& file, const LayerAttributes& attributes,
                      const CaseNames& names, const CaseSource& source, LayerProblem& problem);

}  // namespace attn
