#pragma once

#include "check/cases/attention_case.h"
#include "check/verdict/tolerance.h"

namespace attn {

// Laws that every attention obeys, whatever its numbers. Each looks at what was recorded and at
// the rules; a law whose data are absent, or that does not apply, says "not checked" and why.
// `truth` is the reference's answer to the same problem, with maps where weights are recorded.

/// Weights of a row that sees keys sum to 1, or to 1 less the sink's share.
Check rows_sum_to_one(const AttentionCase& recorded, const AttentionAnswer& truth);

/// Every weight is between 0 and 1.
Check weights_in_range(const AttentionCase& recorded);

/// Weights above the causal diagonal are exactly 0: nothing attends to the future.
Check future_weights_zero(const AttentionCase& recorded);

/// Weights of keys hidden by a mask, a window, a length or packing are exactly 0.
Check hidden_weights_zero(const AttentionCase& recorded);

/// Each feature of out lies between the least and the greatest of the values that the row sees
/// (and 0 where a sink takes a share): an average leaves no hull. `slack` is the limit of out.
Check out_within_values(const AttentionCase& recorded, double slack);

/// A row that sees one key gives its value, whatever scale and scores: the first causal row is
/// v[0].
Check one_key_gives_its_value(const AttentionCase& recorded);

/// Row 0 of a causal attention whose diagonal starts at key 0 is v[0]: no sink, key 0 visible.
Check first_causal_row(const AttentionCase& recorded);

/// A row whose keys are all alike gives the mean of their values, whatever query and scale.
Check equal_keys_give_the_mean(const AttentionCase& recorded, double slack);

/// A row whose values are all alike gives just that value: its weights sum to 1, seen from out.
Check constant_values_stay(const AttentionCase& recorded, double slack);

/// The run on permuted tokens gives the permuted output; where the order means something (a mask,
/// a window ...) it must give what the reference gives for the permuted tokens.
Check permutation(const AttentionCase& recorded, const Limits& of_out, int threads);

/// Changing keys and values that a row may not see does not move the row.
Check causal_probe(const AttentionCase& recorded, const Limits& of_out);

/// What a law says of the parts of a case, as it would of the whole: the largest error, the largest
/// limit.
class LawSum {
 public:
  /// `origin` is where the part's first element stands in the whole (missing axes: 0).
  void add(Check check, const std::vector<Index>& origin);
  Check result() const;
  /// With a limit that is known only when all parts have been seen.
  Check result(double limit) const;

 private:
  Check check_;
};

/// The law of permutation, part by part; a part has all rows and all keys of its heads.
class PermutationSum {
 public:
  void add(const AttentionCase& recorded, const std::vector<Index>& origin, int threads);
  Check result(DType stored, DType dtype, const Limits& of_out) const;

 private:
  void why_not(const char* why);

  DifferenceSum difference_;
  SizeSum size_;
  bool against_reference_ = false;
  std::string why_not_;
};

}  // namespace attn
