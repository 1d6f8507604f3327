#pragma once

#include <string>

namespace attn {

/// "HDF5 1.10.8", for --version. Starts nothing of the library.
std::string hdf5_version();

}  // namespace attn
