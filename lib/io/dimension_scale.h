#pragma once

#include <string>

#include "core/index.h"
#include "io/hdf5_handle.h"

namespace attn {

/// Writes the two attributes by which a dataset and the scale of one of its axes know each other:
/// DIMENSION_LIST on the data (for each axis a list of references to scales) and REFERENCE_LIST on
/// the scale (who uses it, for which axis), as the HDF5 Dimension Scale Specification lays them
/// out. The high-level library would be another dependency for these few lines.
/// Returns false where the library fails.
[[nodiscard]] bool attach_scale(hid_t file, const std::string& dataset, Index axis,
                                const std::string& scale);

}  // namespace attn
