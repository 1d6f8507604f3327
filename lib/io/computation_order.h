#pragma once

#include <string>
#include <vector>

namespace attn {

/// Puts names of tensors into the order in which a model computes or uses them, where the words in
/// them tell: embeddings, then blocks by number, in a block norm, queries, keys, values, scores,
/// weights, output, projection and MLP, then the last norm and the head. Numbers count as numbers
/// (blocks.2 before blocks.10); names that tell nothing stay in the order of their bytes.
void sort_by_computation(std::vector<std::string>& names);

}  // namespace attn
