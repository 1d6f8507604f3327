#pragma once

#include <vector>

#include "check/laws/laws.h"

namespace attn {

/// All laws of a case, part by part.
class LawBook {
 public:
  /// `truth` is the reference's answer to the part, `origin` where it starts in the whole.
  void add(const AttentionCase& recorded, const AttentionAnswer& truth,
           const std::vector<Index>& origin, int threads);
  /// The checks, by the limits of out that are known when all parts have been seen. `outline` says
  /// what records are kept in.
  std::vector<Check> checks(const AttentionCase& outline, const Limits& of_out) const;

 private:
  LawSum rows_sum_, in_range_, future_, hidden_, within_, one_key_;
  LawSum first_row_, equal_keys_, constant_, probe_;
  PermutationSum permutation_;
  SizeSum size_of_out_;  // as recorded
};

}  // namespace attn
