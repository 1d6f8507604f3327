#pragma once

#include <string>

#include "io/descriptor.h"

namespace attn {

/// A new file that is removed unless it is renamed: by the destructor, and by SIGINT, SIGTERM and
/// SIGHUP, which then do what they did before. Where a handler was in place that lets the program
/// go on (one that is not reset when it is entered: no SA_RESETHAND), the file stays and the
/// handler is called; whoever ends the program after all calls remove_temporary_files.
class TemporaryFile {
 public:
  /// `pattern` ends in XXXXXX. DataError under `name` if it cannot be made.
  TemporaryFile(std::string pattern, const std::string& name);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  int descriptor() const { return file_.get(); }
  /// Closes it and gives it its name.
  void rename_to(const std::string& path, const std::string& name);

 private:
  std::string path_;
  int slot_ = -1;  // set while the file is made
  Descriptor file_;
};

/// Removes those there are; for a signal handler that ends the program.
void remove_temporary_files();

}  // namespace attn
