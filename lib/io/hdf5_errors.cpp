#include "io/hdf5_errors.h"

#include <fmt/core.h>

#include "core/error.h"
#include "io/hdf5_library.h"

namespace attn {

void fail_damaged(const std::string& what) {
  const std::string reason = library_error();
  // The library's words for a message version above the one it knows.
  if (reason.starts_with("bad version number") || reason.starts_with("unknown chunk index")) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
    throw DataError(
        fmt::format("{}: damaged, or a newer HDF5 format than this build ({}.{}.{}) reads: {}",
                    what, major, minor, release, reason),
        {"a newer h5repack rewrites it: h5repack --low=0 --high=3 OLD.h5 NEW.h5"});
  }
  throw DataError(fmt::format("{}: damaged HDF5 file: {}", what,
                              reason.empty() ? "the library gives no reason" : reason));
}

}  // namespace attn
