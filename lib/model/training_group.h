#pragma once

#include <optional>

#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "model/training_state.h"
#include "nn/param_store.h"

namespace attn {

/// Writes /training, and /optimizer where there are moments: curves as datasets with scales, step,
/// best and settings as attributes.
void write_training(Hdf5Writer& writer, const TrainingState<float>& state,
                    const ParamStore<float>& params);

/// Reads them back, every number to the bit; nothing where there is no /training. Throws DataError
/// for a state that does not fit itself or the parameters.
std::optional<TrainingState<float>> read_training(const Hdf5Reader& reader,
                                                  const ParamStore<float>& params);

/// One dataset for each parameter, out of a flat buffer of the layout.
void write_flat(Hdf5Writer& writer, const std::string& group, const ParamStore<float>& params,
                const float* buffer);

}  // namespace attn
