#pragma once

#include <string>
#include <string_view>

#include "io/hdf5_handle.h"

namespace attn {

/// Every use of the HDF5 library happens inside one of these. The first one of a process starts
/// the library: quiet at exit, no plugins (a file must not choose code that is loaded), errors
/// collected instead of printed. While `input` is being read, a crash of the library becomes one
/// line and exit 3 (crash_guard.h).
class LibraryScope {
 public:
  LibraryScope();
  explicit LibraryScope(std::string_view input);
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;
  ~LibraryScope();

 private:
  bool guarded_ = false;
};

/// What the library said last, from the place where the trouble arose ("wrong B-tree signature"),
/// safe to print. Empty if nothing failed in this scope.
std::string library_error();

/// A name that no file can have ("/dev/null" is no folder), new at each call: the core driver would
/// open an existing file of that name, and takes two images of one name for one file.
std::string image_name();

}  // namespace attn
