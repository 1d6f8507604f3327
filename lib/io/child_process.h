#pragma once

#include <functional>
#include <string>

namespace attn {

/// What a child process may use up.
struct ChildLimits {
  int cpu_seconds = 3;
  std::size_t extra_memory = std::size_t{512} << 20;  ///< beyond what the process has now
  std::size_t answer_bytes = std::size_t{64} << 20;
};

struct ChildAnswer {
  std::string text;     ///< what the child returned
  std::string trouble;  ///< "crashed", "took too long" ...; empty if it came to its end
};

/// Runs `work` in a forked child and hands over what it returns. For work on hostile input: a
/// crash, an endless loop or a flood of memory ends the child alone. Nothing of the child reaches
/// stdout or stderr. (Memory is not limited under AddressSanitizer.)
ChildAnswer run_in_child(const std::function<std::string()>& work, const ChildLimits& limits = {});

}  // namespace attn
