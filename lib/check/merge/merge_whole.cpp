// The attention over all keys that attention over parts of them belongs to.

#include "check/merge/merge_whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace attn {

namespace {

bool same_numbers(const Tensor<double>& a, const Tensor<double>& b) {
  return a.shape == b.shape &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Index length_of(const AttentionProblem& problem, Index b) {
  return problem.kv_lens.empty() ? problem.kv_len() : problem.kv_lens[static_cast<std::size_t>(b)];
}

// Keys of each sequence that stand before each part's.
std::vector<std::vector<Index>> key_starts(const std::vector<const AttentionProblem*>& parts) {
  std::vector<Index> at(static_cast<std::size_t>(parts.front()->batch()), 0);
  std::vector<std::vector<Index>> starts;
  for (const AttentionProblem* part : parts) {
    starts.push_back(at);
    for (std::size_t b = 0; b < at.size(); ++b) at[b] += length_of(*part, static_cast<Index>(b));
  }
  starts.push_back(at);  // the ends
  return starts;
}

// Rows 0 .. length - 1 of each sequence and head, behind those of the earlier parts.
void join_rows(const Tensor<double>& part, const AttentionProblem& problem,
               const std::vector<Index>& starts, Tensor<double>& all) {
  const Index heads = part.dim(1);
  const Index features = part.dim(3);
  for (Index b = 0; b < part.dim(0); ++b) {
    for (Index h = 0; h < heads; ++h) {
      const Index to = (b * heads + h) * all.dim(2) + starts[static_cast<std::size_t>(b)];
      std::copy_n(part.data() + (b * heads + h) * part.dim(2) * features,
                  length_of(problem, b) * features, all.data() + to * features);
    }
  }
}

// The parts' masks side by side; 1 or 0 where a part has none.
std::optional<Tensor<double>> join_masks(const std::vector<const AttentionProblem*>& parts,
                                         Index keys) {
  const AttentionProblem& first = *parts.front();
  const bool any = std::any_of(parts.begin(), parts.end(),
                               [](const AttentionProblem* part) { return part->mask.has_value(); });
  if (!any) return std::nullopt;
  Tensor<double> all({first.batch(), first.heads(), first.q_len(), keys});
  std::size_t at = 0;
  for (Index b = 0; b < first.batch(); ++b) {
    for (Index h = 0; h < first.heads(); ++h) {
      for (Index i = 0; i < first.q_len(); ++i) {
        const std::size_t row = at;
        for (const AttentionProblem* part : parts) {
          const double open = part->rules.mask_type == MaskType::kBool ? 1 : 0;
          for (Index j = 0; j < length_of(*part, b); ++j) {
            all.values[at++] = part->mask ? part->mask_at(b, h, i, j) : open;
          }
        }
        at = row + static_cast<std::size_t>(keys);  // the rest is padding
      }
    }
  }
  return all;
}

// Does every row see of each part's keys just what it sees in the part, from the same place?
bool sees_the_same(const AttentionProblem& whole, const std::vector<const AttentionProblem*>& parts,
                   const std::vector<std::vector<Index>>& starts) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (Index b = 0; b < whole.batch(); ++b) {
      const Index start = starts[p][static_cast<std::size_t>(b)];
      const Index end = starts[p + 1][static_cast<std::size_t>(b)];
      for (Index i = 0; i < whole.q_len(); ++i) {
        const Sight in_part = sight_of(*parts[p], b, i);
        const Sight in_whole = sight_of(whole, b, i);
        const Index first = std::max(in_whole.first, start);
        const Index last = std::max(first, std::min(in_whole.end, end));
        if (in_part.end - in_part.first != last - first) return false;
        if (last > first && in_part.first + start != first) return false;
        if (!whole.alibi_slopes.empty() && in_part.position + start != in_whole.position) {
          return false;
        }
      }
    }
  }
  return true;
}

// Rules of the parts that must be the same for there to be a whole.
bool same_rules(const AttentionProblem& a, const AttentionProblem& b) {
  return a.scale() == b.scale() && a.rules.softcap == b.rules.softcap &&
         a.rules.dtype == b.rules.dtype && a.alibi_slopes == b.alibi_slopes &&
         (!a.mask || !b.mask || a.rules.mask_type == b.rules.mask_type);
}

WholeProblem none(std::string why) {
  WholeProblem whole;
  whole.missing = std::move(why);
  return whole;
}

WholeProblem joined_keys(const std::vector<const AttentionProblem*>& parts) {
  const AttentionProblem& first = *parts.front();
  for (const AttentionProblem* part : parts) {
    if (part->k.shape[1] != first.k.shape[1] || part->head_dim() != first.head_dim() ||
        part->value_dim() != first.value_dim() || !same_rules(*part, first)) {
      return none("the parts differ in heads, scale, softcap, slopes or type");
    }
    if (!part->cu_seqlens_q.empty()) return none("packed sequences are not joined: give the whole");
  }
  if (first.batch() == 0) return none("there are no sequences");
  const auto starts = key_starts(parts);
  const std::vector<Index>& lens = starts.back();
  const Index keys = *std::max_element(lens.begin(), lens.end());
  WholeProblem result;
  AttentionProblem whole;
  whole.q = first.q;
  whole.k = Tensor<double>({first.batch(), first.kv_heads(), keys, first.head_dim()});
  whole.v = Tensor<double>({first.batch(), first.kv_heads(), keys, first.value_dim()});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    join_rows(parts[p]->k, *parts[p], starts[p], whole.k);
    join_rows(parts[p]->v, *parts[p], starts[p], whole.v);
  }
  whole.mask = join_masks(parts, keys);
  const bool uneven =
      std::any_of(lens.begin(), lens.end(), [keys](Index length) { return length != keys; });
  if (uneven) whole.kv_lens = lens;
  whole.alibi_slopes = first.alibi_slopes;
  for (const AttentionProblem* part : parts) {
    if (!part->sinks.empty()) whole.sinks = part->sinks;
  }
  // The diagonal of one of the parts, carried on through the whole, or that of the last corner.
  for (std::size_t p = 0; p < parts.size(); ++p) {
    whole.rules = parts[p]->rules;
    for (const AttentionProblem* part : parts) {
      if (part->mask) whole.rules.mask_type = part->rules.mask_type;
    }
    for (const bool corner : {false, true}) {
      whole.rules.causal_offset.reset();
      whole.rules.causal_alignment = CausalAlignment::kBottomRight;
      if (!corner && whole.q_len() > 0 && whole.batch() > 0) {
        whole.rules.causal_offset = sight_of(*parts[p], 0, 0).position + starts[p].front();
      }
      const AttentionRules& rules = whole.rules;
      if (!rules.causal && rules.window_left < 0 && rules.window_right < 0 &&
          whole.alibi_slopes.empty()) {
        whole.rules.causal_offset.reset();  // where a query stands means nothing
        whole.rules.causal_alignment = CausalAlignment::kTopLeft;
      }
      if (!sees_the_same(whole, parts, starts)) continue;
      result.problem = std::move(whole);
      result.joined = true;
      return result;
    }
  }
  return none("no one rule shows a row of all keys what it sees in the parts");
}

}  // namespace

WholeProblem whole_of_parts(const std::vector<MergeFile>& parts) {
  std::vector<const AttentionProblem*> with_keys;
  for (const MergeFile& part : parts) {
    if (!part.has_keys) continue;
    const AttentionProblem& problem = part.recorded.problem;
    if (!with_keys.empty() && !same_numbers(problem.q, with_keys.front()->q)) {
      throw DataError(
          fmt::format("{}: q: is another than before: want parts of one attention, of "
                      "the same queries",
                      part.name));
    }
    with_keys.push_back(&problem);
  }
  if (with_keys.empty()) return none("no file has q, k and v");
  const bool alike =
      std::all_of(with_keys.begin(), with_keys.end(), [&](const AttentionProblem* other) {
        return same_numbers(other->k, with_keys.front()->k) &&
               same_numbers(other->v, with_keys.front()->v);
      });
  if (with_keys.size() == 1 || alike) {
    WholeProblem whole;
    whole.problem = *with_keys.front();
    return whole;
  }
  if (with_keys.size() < parts.size()) return none("some files have keys, and some have none");
  return joined_keys(with_keys);
}

}  // namespace attn
