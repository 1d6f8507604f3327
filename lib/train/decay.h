#pragma once

#include <vector>

#include "model/model_config.h"
#include "nn/param_store.h"

namespace attn {

/// Which parameters AdamW's decay pulls towards zero: all, as PyTorch does unless told otherwise;
/// or those of two axes alone, embeddings among them, and neither biases nor norms: GPT-2's habit.
enum class DecayScope { kAll, kMatrices };

bool is_decayed(const ParamInfo& parameter, DecayScope scope);

/// A run of numbers of the flat buffers that are treated alike.
struct DecayRun {
  Index first = 0;
  Index count = 0;
  bool decayed = true;
};

/// All of the layout, in order, cut where decay begins or ends and into runs of at most `most`.
std::vector<DecayRun> decay_runs(const std::vector<ParamInfo>& layout, DecayScope scope,
                                 Index most);

/// Parameters (tensors) and the numbers in them.
struct DecayCounts {
  Index decayed_tensors = 0;
  Index decayed = 0;
  Index undecayed_tensors = 0;
  Index undecayed = 0;
};
DecayCounts count_decayed(const std::vector<ParamInfo>& layout, DecayScope scope);

/// all, matrices.
template <>
std::vector<std::string> enum_names<DecayScope>();
template <>
std::string enum_name(DecayScope value);
template <>
std::optional<DecayScope> parse_enum(std::string_view name);

}  // namespace attn
