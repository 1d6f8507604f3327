#pragma once

#include <string>
#include <vector>

#include "check/reference/attention_problem.h"
#include "check/verdict/verdict.h"

namespace attn {

/// What attention over some of the keys gave.
struct PartialAnswer {
  Tensor<double> out;  // (batch, heads, q_len, value_dim)
  Tensor<double> lse;  // (batch, heads, q_len): natural; minus infinity where a row saw nothing
};

/// Attention over all keys from attention over parts of them:
///   lse = log sum_p exp(lse_p),  out = sum_p exp(lse_p - lse) out_p
/// (FlashAttention, arXiv:2205.14135, section 3.1; split keys as in Flash-Decoding, shared prefixes
/// as in Hydragen, arXiv:2402.05099). Exact, in any order. The out of a part that saw nothing
/// counts for nothing, not even a NaN; where no part saw anything the row stays empty: zeros or NaN
/// as `empty` says, and lse minus infinity. The parts' shapes must agree.
PartialAnswer merge_answers(const std::vector<PartialAnswer>& parts, FullyMasked empty);

/// The same in float arithmetic: what an honest kernel gives.
PartialAnswer merge_answers_in_float(const std::vector<PartialAnswer>& parts, FullyMasked empty);

/// The part with its lse taken for a logarithm of base 2: times ln 2.
PartialAnswer from_base2(PartialAnswer part);

/// A known mistake of merging, and what it makes of the parts.
struct MergeMistake {
  std::string name;
  std::string detail;
  PartialAnswer answer;
};

/// All of them, the most specific first.
std::vector<MergeMistake> merge_mistakes(const std::vector<PartialAnswer>& parts,
                                         FullyMasked empty);

}  // namespace attn
