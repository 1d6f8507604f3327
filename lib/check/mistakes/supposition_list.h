#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/mistakes/suppositions.h"

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

  Supposition& add(Supposition supposition);
  /// The problem after a change of its own.
  Supposition& seen(std::string name, std::function<void(AttentionProblem&)> change);
  /// A step taken differently.
  Supposition& twisted(std::string name, Twist twist, double parameter = 0);
  /// Just these keys may be seen.
  Supposition& allowed(std::string name, MaySee may_see);
  /// Each number of the mask is another.
  Supposition& mask_becomes(std::string name,
                            std::function<double(double value, double scale)> becomes);

 private:
  const AttentionProblem& problem_;
  std::vector<Supposition> found_;
};

/// Does the problem hide keys by anything but padding?
bool hides(const AttentionProblem& problem);

/// The number of a row in the whole, where the problem is a part.
Index whole_row(const AttentionProblem& problem, Index i);

/// Keys of sequence b that are no padding.
Index key_count(const AttentionProblem& problem, Index b);

/// The first key of the query's own packed sequence, and one after its last that is no padding.
Index first_key(const AttentionProblem& problem, Index i);
Index key_limit(const AttentionProblem& problem, Index b, Index i);

/// Is key j between these?
bool in_own_sequence(const AttentionProblem& problem, Index b, Index i, Index j);

/// May a query that stands at `position` see key j by the causality and the window of `rules`?
bool in_reach(const AttentionRules& rules, Index position, Index j);

/// The same problem whose keys and values go on to `keys` rows, of zeros or as the last of them;
/// a mask goes on with what shows a key.
AttentionProblem with_more_keys(const AttentionProblem& problem, Index keys, bool repeat_last);

// The kinds, in the order of the table in suppositions.cpp.
void suppose_masks(SuppositionList& list);
void suppose_causality(SuppositionList& list);
void suppose_windows(SuppositionList& list);
void suppose_lengths(SuppositionList& list);
void suppose_caches(SuppositionList& list);
void suppose_pages(SuppositionList& list);
void suppose_batches(SuppositionList& list);
void suppose_heads(SuppositionList& list);
void suppose_scales(SuppositionList& list);
void suppose_softcaps(SuppositionList& list);
void suppose_sentinels(SuppositionList& list);
void suppose_softmaxes(SuppositionList& list);
void suppose_sinks(SuppositionList& list);
void suppose_slopes(SuppositionList& list);
void suppose_arithmetic(SuppositionList& list);
void suppose_tiles(SuppositionList& list);
void suppose_undeclared(SuppositionList& list);

}  // namespace attn
