#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

namespace attn::cli {

/// Where the answer goes: stdout; stderr where stdout carries an HDF5 file; nowhere where that is
/// so and -q was given. A failure to write to stdout is a DataError that says why.
class Report {
 public:
  /// A null stream drops everything.
  explicit Report(std::FILE* stream) : stream_(stream) {}

  void write(std::string_view text);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }
  void flush();
  /// False where nobody will see it, so that it need not be made.
  bool wanted() const { return stream_ != nullptr; }

 private:
  std::FILE* stream_;
};

}  // namespace attn::cli
