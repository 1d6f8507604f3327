#include "train/decay.h"

#include <algorithm>

namespace attn {

bool is_decayed(const ParamInfo& parameter, DecayScope scope) {
  return scope == DecayScope::kAll || parameter.shape.size() == 2;
}

std::vector<DecayRun> decay_runs(const std::vector<ParamInfo>& layout, DecayScope scope,
                                 Index most) {
  std::vector<DecayRun> runs;
  for (const ParamInfo& info : layout) {
    const bool decayed = is_decayed(info, scope);
    Index first = info.place.offset;
    Index left = info.place.size();
    while (left > 0) {
      const bool begins =
          runs.empty() || runs.back().decayed != decayed || runs.back().count == most;
      if (begins) runs.push_back({first, 0, decayed});
      const Index taken = std::min(left, most - runs.back().count);
      runs.back().count += taken;
      first += taken;
      left -= taken;
    }
  }
  return runs;
}

DecayCounts count_decayed(const std::vector<ParamInfo>& layout, DecayScope scope) {
  DecayCounts counts;
  for (const ParamInfo& info : layout) {
    const bool decayed = is_decayed(info, scope);
    (decayed ? counts.decayed_tensors : counts.undecayed_tensors) += 1;
    (decayed ? counts.decayed : counts.undecayed) += info.place.size();
  }
  return counts;
}

template <>
std::vector<std::string> enum_names<DecayScope>() {
  return {"all", "matrices"};
}

template <>
std::string enum_name(DecayScope value) {
  return value == DecayScope::kAll ? "all" : "matrices";
}

template <>
std::optional<DecayScope> parse_enum(std::string_view name) {
  if (name == "all") return DecayScope::kAll;
  if (name == "matrices") return DecayScope::kMatrices;
  return std::nullopt;
}

}  // namespace attn
