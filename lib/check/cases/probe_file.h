#pragma once

#include "check/cases/probes.h"
#include "io/tensor_set.h"

namespace attn {

/// A probe as a case file has it, in the kernel's layout, every rule stated.
TensorSet probe_file(const KernelProbe& probe, const ProbeSettings& settings);

}  // namespace attn
