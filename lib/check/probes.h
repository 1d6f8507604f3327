#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/attention_case.h"
#include "check/case_attributes.h"
#include "io/tensor_set.h"

namespace attn {

/// Inputs that a kernel takes beside q, k and v.
enum class ProbeInput { kMask, kAdditiveMask, kKvLens, kSinks, kAlibiSlopes };

/// "mask", "additive-mask", "kv-lens", "sinks", "alibi-slopes"; nothing for another word.
std::optional<ProbeInput> parse_probe_input(std::string_view word);

/// The kernel that probes are for.
struct ProbeSettings {
  CaseAttributes rules;  ///< all that is said applies; heads 4, kv_heads as many unless given
  Index head_dim = 16;
  std::vector<ProbeInput> inputs;
  std::uint64_t seed = 0;
};

/// A case without /out, whose output gives one kind of mistake away.
struct KernelProbe {
  std::string name;     ///< "identity"
  std::string reveals;  ///< what its output shows, in a few words
  AttentionCase asked;
};

/// The probes for a kernel: values that are the identity, so that the output is the weights; heads,
/// sequences and features marked by their values; tokens in another order; a changed future; a key
/// that draws all; large magnitudes; lengths at the edges of tiles; other lengths of queries and
/// keys; and, for each further input the kernel takes, one with rows that see nothing, poisoned
/// padding or large sinks. Inputs are numbers of the kernel's type. UsageError where kv_heads does
/// not divide heads.
std::vector<KernelProbe> make_probes(const ProbeSettings& settings);

/// A probe as a case file has it, in the kernel's layout, every rule stated.
TensorSet probe_file(const KernelProbe& probe, const ProbeSettings& settings);

/// What the mistakes found in several cases have in common.
struct JointDiagnosis {
  std::vector<std::string> common;  ///< names that fit every failing case, in the first one's order
  /// Where none does: each name with the number of failing cases it fits, the most first.
  std::vector<std::pair<std::string, Index>> others;
};

/// `found` has the names that fit, of each failing case.
JointDiagnosis join_diagnoses(const std::vector<std::vector<std::string>>& found);

}  // namespace attn
