#pragma once

#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "model/model_config.h"

namespace attn {

/// Root attributes rope_scaling (the kind's name), rope_factor, rope_original_max_positions and
/// whatever else the kind reads. Nothing for a model without rope, or whose rope is not scaled.
void write_rope_scaling(Hdf5Writer& writer, const ModelConfig& config);

/// What write_rope_scaling wrote; not scaled where the file says nothing. DataError for a kind that
/// is not known.
RopeScaling read_rope_scaling(const Hdf5Reader& reader);

}  // namespace attn
