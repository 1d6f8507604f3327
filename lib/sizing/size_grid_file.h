#pragma once

#include "io/hdf5_writer.h"
#include "sizing/size_grid.h"

namespace attn {

/// The grid as arrays that plotters can label: /bytes, /k_bytes and /v_bytes over the axes (layers,
/// kv_heads, head_dim,) tokens, batch, cache_dtype, each with its dimension scale. The first three
/// are left out where one model is asked about (`axes` is empty); its name is an attribute.
void write_size_grid(Hdf5Writer& writer, const SizeGrid& grid, const ShapeAxes& axes);

}  // namespace attn
