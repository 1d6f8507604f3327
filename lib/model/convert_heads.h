#pragma once

#include <memory>

#include "model/transformer.h"

namespace attn {

/// The same model with fewer key and value heads: each new head is the mean of those it stands for,
/// old heads h * group .. h * group + group - 1 with group = old / new, in the weights and biases
/// of k_proj and v_proj of every self- and cross-attention (Ainslie et al. 2023, arXiv:2305.13245,
/// section 2.1). Query head by query head the same keys are read as before where the heads of a
/// group are equal; otherwise some training has to follow.
/// Throws UsageError unless kv_heads divides the model's.
template <class T>
std::unique_ptr<Transformer<T>> pool_kv_heads(const Transformer<T>& model, Index kv_heads);

}  // namespace attn
