#pragma once

#include "io/hdf5_writer.h"
#include "sizing/size_grid.h"

namespace attn {

/// The grid as arrays that plotters can label: /bytes, /k_bytes, /v_bytes, /state_bytes and
/// /rank_bytes over the axes (layers, kv_heads, head_dim, or model where several are asked about,)
/// tokens, (encoder_tokens,) batch, cache_dtype, (tensor_parallel), each with its dimension scale.
/// Those in brackets are left out where nothing was swept. The name of a single model is an
/// attribute.
void write_size_grid(Hdf5Writer& writer, const SizeGrid& grid, const ShapeAxes& axes);

}  // namespace attn
