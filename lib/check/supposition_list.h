#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/suppositions.h"

namespace attn {

/// Says of the key at j whether the query at i may see it; it need not ask about padding.
using MaySee =
    std::function<bool(const AttentionProblem& problem, Index b, Index h, Index i, Index j)>;

/// The problem with a mask that shows just the keys `may_see` names, in place of causality and
/// window; an additive mask keeps its numbers there.
AttentionProblem restricted(const AttentionProblem& problem, const MaySee& may_see);

/// What can be supposed of one problem, as it is collected: each call adds one supposition.
class SuppositionList {
 public:
  explicit SuppositionList(const AttentionProblem& problem) : problem_(problem) {}

  const AttentionProblem& problem() const { return problem_; }
  std::vector<Supposition> take() { return std::move(found_); }

  void add(Supposition supposition) { found_.push_back(std::move(supposition)); }
  /// The problem after a change of its own.
  void seen(std::string name, std::function<void(AttentionProblem&)> change);
  /// A step taken differently.
  void twisted(std::string name, Twist twist, double parameter = 0);
  /// Just these keys may be seen.
  void allowed(std::string name, MaySee may_see);
  /// Each number of the mask is another.
  void mask_becomes(std::string name, std::function<double(double value, double scale)> becomes);

 private:
  const AttentionProblem& problem_;
  std::vector<Supposition> found_;
};

/// Does the problem hide keys by anything but padding?
bool hides(const AttentionProblem& problem);

// The kinds, in the order of the table in suppositions.cpp.
void suppose_masks(SuppositionList& list);
void suppose_causality(SuppositionList& list);
void suppose_windows(SuppositionList& list);
void suppose_lengths(SuppositionList& list);
void suppose_batches(SuppositionList& list);
void suppose_heads(SuppositionList& list);
void suppose_scales(SuppositionList& list);
void suppose_softcaps(SuppositionList& list);
void suppose_softmaxes(SuppositionList& list);
void suppose_tiles(SuppositionList& list);
void suppose_sinks(SuppositionList& list);
void suppose_slopes(SuppositionList& list);
void suppose_arithmetic(SuppositionList& list);

}  // namespace attn
