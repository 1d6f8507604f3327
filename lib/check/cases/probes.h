#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/cases/attention_case.h"
#include "check/cases/case_attributes.h"

namespace attn {

/// Inputs that a kernel takes beside q, k and v.
enum class ProbeInput { kMask, kAdditiveMask, kKvLens, kSinks, kAlibiSlopes, kPages };

/// "mask", "additive-mask", "kv-lens", "sinks", "alibi-slopes", "pages"; nothing for another word.
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

}  // namespace attn
