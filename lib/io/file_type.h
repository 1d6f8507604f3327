#pragma once

#include "core/dtype.h"
#include "io/hdf5_handle.h"

namespace attn {

/// The HDF5 type, little-endian, that keeps a number type bit for bit. IEEE 754 half precision and
/// bfloat16 are floats of 16 bits with their fields said; bool is an unsigned byte.
TypeId file_type_of(DType type);

}  // namespace attn
