#pragma once

#include "bench/serving.h"

namespace attn {

/// The pages of one way of serving, counted on paper: who may enter is decided by it, and the pool
/// must say the same after each pass.
class PageBudget {
 public:
  PageBudget(const ServingLoad& load, const ServingSettings& settings);

  /// Rows of a page; of a contiguous way those of a reservation.
  Index page() const { return page_; }
  /// Pages that the memory holds; 0: no bound.
  Index most() const { return most_; }
  /// Rows of the prefix that are held once for all, and their pages.
  Index common() const { return common_; }
  Index common_pages() const { return common_ / page_; }
  /// Pages that a sequence of so many rows, the common ones among them, has for itself after a pass
  /// that found `past` of them: what no row of that pass saw was given back as it began.
  Index own(Index rows, Index past) const;
  /// The most that it will have, token after token, from such a pass until it has `end` rows.
  Index most_own(Index rows, Index past, Index end) const;
  /// The most that a request has for itself; where it may have to begin again, with all its rows.
  Index most_own(const ServingRequest& request) const;

 private:
  bool contiguous_;
  bool begins_again_;
  Index window_;
  Index page_;
  Index common_;
  Index most_ = 0;
};

}  // namespace attn
