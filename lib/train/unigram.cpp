#include "train/unigram.h"

#include <algorithm>
#include <cmath>

namespace attn {

double unigram_cross_entropy(std::span<const Index> seen, std::span<const Index> held_out) {
  // A mask is in the vocabulary and occurs nowhere: nothing is kept for it.
  const auto weight = [&](std::size_t id) {
    return seen[id] == 0 && held_out[id] == 0 ? 0.0
                                              : static_cast<double>(std::max<Index>(seen[id], 1));
  };
  double total = 0;
  for (std::size_t id = 0; id < seen.size(); ++id) total += weight(id);
  double nats = 0;
  double tokens = 0;
  for (std::size_t id = 0; id < seen.size(); ++id) {
    if (held_out[id] == 0) continue;
    const auto times = static_cast<double>(held_out[id]);
    nats -= times * std::log(weight(id) / total);
    tokens += times;
  }
  return nats / tokens;
}

}  // namespace attn
