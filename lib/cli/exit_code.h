#pragma once

namespace attn::cli {

/// What a program's exit status says. Frozen: scripts rely on it.
enum ExitCode : int {
  kDone = 0,      ///< done, and the answer is yes where there is one
  kNo = 1,        ///< ran, and the answer is no: a check failed, outputs differ
  kUsage = 2,     ///< the command line; nothing was read or written
  kData = 3,      ///< data, input, output or memory
  kInternal = 4,  ///< our bug
};

}  // namespace attn::cli
