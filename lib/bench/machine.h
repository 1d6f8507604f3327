#pragma once

#include <string>

#include "core/index.h"

namespace attn {

/// Where something was measured: enough to compare two reports, nothing that names a person or a
/// host. What the system does not tell is empty, 0 or (the load) NaN.
struct Machine {
  std::string cpu;          // "AMD EPYC 9575F"
  int cores = 0;            // that this process may run on
  Index l1_data_bytes = 0;  // of one core
  Index l2_bytes = 0;       // of one core
  Index l3_bytes = 0;       // shared
  double load = 0;          // runnable threads, mean of the last minute
};

Machine this_machine();

/// The build this is: "Release", and the compiler, "GNU 12.2.0".
std::string build_type();
std::string compiler();

}  // namespace attn
