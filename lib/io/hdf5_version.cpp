#include "io/hdf5_version.h"

#include <fmt/core.h>
#include <hdf5.h>

namespace attn {

std::string hdf5_version() {
  return fmt::format("HDF5 {}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
}

}  // namespace attn
