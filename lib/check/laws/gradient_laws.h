#pragma once

#include "check/cases/attention_case.h"
#include "check/reference/reference_gradient.h"
#include "check/verdict/tolerance.h"

namespace attn {

// Laws that need no reference backward pass. `unit` is what the largest element of a gradient may
// be off: sums may be off by as many units as they have terms.

/// Keys that no query sees get neither dK nor dV, queries that see nothing no dQ: exactly 0.
Check hidden_gradients_zero(const AttentionCase& recorded);

/// Without a sink the weights of a row sum to 1, so that the dV of a key-value head sum, over its
/// keys, to the d_out of the rows and query heads that read it.
Check d_v_sums_to_d_out(const AttentionCase& recorded, double unit);

/// Without softcap and sink the dS of a row sum to 0, and adding one vector to all keys changes
/// nothing: the dK of a head sum to 0 over its keys.
Check d_k_sums_to_zero(const AttentionCase& recorded, double unit);

/// Scores do not change when q grows by a factor and k shrinks by it: the sum of q * dQ over the
/// rows and query heads of a key-value head is the sum of k * dK over its keys.
Check d_q_balances_d_k(const AttentionCase& recorded, double q_unit, double k_unit);

}  // namespace attn
