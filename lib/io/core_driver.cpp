#include "io/core_driver.h"

#include <cstddef>

namespace attn {
namespace {

void* same_udata(void* udata) {
  return udata;
}
herr_t keep_udata(void* /*udata*/) {
  return 0;
}

}  // namespace

PropertyId core_driver_access(H5FD_file_image_callbacks_t callbacks) {
  constexpr std::size_t kIncrement = std::size_t{1} << 20;
  callbacks.udata_copy = same_udata;
  callbacks.udata_free = keep_udata;
  PropertyId access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access.get(), kIncrement, 0);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_image_callbacks(access.get(), &callbacks);
  return access;
}

}  // namespace attn
