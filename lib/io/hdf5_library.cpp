#include "io/hdf5_library.h"

#include <fmt/core.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "core/text.h"
#include "io/crash_guard.h"

#ifdef ATTNTOOLS_ASAN
// The library forgets a few hundred bytes when it refuses a file: free lists, message copies.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:H5FL_\nleak:H5MM_\nleak:H5O_\n";
}
extern "C" const char* __lsan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "print_suppressions=0";
}
#endif

namespace attn {
namespace {

thread_local std::string last_error;

herr_t keep_description(unsigned /*depth*/, const H5E_error2_t* entry, void* /*data*/) {
  if (entry->desc != nullptr && *entry->desc != '\0') last_error = entry->desc;
  return 0;
}

// Called by the library at each failure, while its stack is whole: the clean-up of a failing call
// may clear it. Walking downward ends at the innermost entry, which is the useful one.
herr_t collect_error(hid_t stack, void* /*data*/) {
  last_error.clear();
  return H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_description, nullptr);
}

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    H5dont_atexit();
    unsetenv("HDF5_PLUGIN_PATH");
    unsetenv("HDF5_PLUGIN_PRELOAD");
    H5open();
    H5PLset_loading_state(0);
  });
  // The setting belongs to the calling thread.
  H5Eset_auto2(H5E_DEFAULT, collect_error, nullptr);
  last_error.clear();
}

}  // namespace

LibraryScope::LibraryScope() {
  start_library();
}

LibraryScope::LibraryScope(std::string_view input) : guarded_(true) {
  enter_crash_guard(input);
  start_library();
}

LibraryScope::~LibraryScope() {
  if (guarded_) leave_crash_guard();
}

std::string library_error() {
  return escaped(last_error);
}

std::string image_name() {
  static std::atomic<long> count = 0;
  return fmt::format("/dev/null/attntools-{}", ++count);
}

}  // namespace attn
