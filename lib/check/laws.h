#pragma once

#include "check/attention_case.h"
#include "check/tolerance.h"

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

/// The run on permuted tokens gives the permuted output; where the order means something (a mask,
/// a window ...) it must give what the reference gives for the permuted tokens.
Check permutation(const AttentionCase& recorded, const Limits& of_out, int threads);

/// Changing keys and values that a row may not see does not move the row.
Check causal_probe(const AttentionCase& recorded, const Limits& of_out);

}  // namespace attn
