#pragma once

#include <fcntl.h>
#include <stdlib.h>  // NOLINT: posix_openpt
#include <unistd.h>

#include <string>

namespace attn::testing {

/// A terminal without a screen, for as long as this lives.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    if (const char* name = ptsname(master_); name != nullptr) path_ = name;
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    if (master_ >= 0) close(master_);
  }

  /// Empty where the machine has none to give.
  const std::string& path() const { return path_; }

 private:
  int master_;
  std::string path_;
};

}  // namespace attn::testing
