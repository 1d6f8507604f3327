#pragma once

#include <hdf5.h>

#include "io/hdf5_handle.h"

namespace attn {

/// Access to a file that is one piece of memory (HDF5's core driver, no file behind it), which the
/// given callbacks lend, copy, enlarge and free. `callbacks.udata` reaches them as it is and must
/// live until the file is closed, as far as they use it; its two own callbacks are filled in here.
PropertyId core_driver_access(H5FD_file_image_callbacks_t callbacks);

}  // namespace attn
