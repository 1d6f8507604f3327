#pragma once

#include <string>

#include "check/reference/attention_problem.h"

namespace attn {

/// What of a problem decides whether mistakes show.
struct PowerFacts {
  double largest_score = 0;    // of those that are seen, scaled
  double largest_product = 0;  // of q.k
  bool all_seen = true;        // no key is hidden from any row
  bool finite_bias = false;    // an additive mask holds other numbers than 0 and minus infinity
};

/// Looks at every score once.
PowerFacts power_facts(const AttentionProblem& problem, int threads);

/// What to change in the inputs so that a test would notice this mistake.
std::string power_advice(const std::string& name, const AttentionProblem& problem,
                         const PowerFacts& facts);

/// What a problem lacks for a mistake to be possible: "not causal: add --causal". Empty where the
/// name says nothing about attention's output.
std::string missing_for(const std::string& name, const AttentionProblem& problem);

/// The tiles of keys, of 4 to 128, whose tails (or whose second tile, for `online`) these keys do
/// not have.
std::string blind_tiles(Index keys, bool online);

}  // namespace attn
