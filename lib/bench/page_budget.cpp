#include "bench/page_budget.h"

#include <algorithm>

#include "core/ceil_div.h"

namespace attn {

PageBudget::PageBudget(const ServingLoad& load, const ServingSettings& settings)
    : contiguous_(settings.way == ServingWay::kContiguous || settings.way == ServingWay::kAlone),
      begins_again_(settings.admission == Admission::kPreempt),
      window_(std::min(settings.window, load.longest)),
      page_(contiguous_ ? load.longest : settings.page_size),
      common_(settings.way == ServingWay::kShared ? shared_rows(load, page_) : 0) {
  if (settings.way != ServingWay::kAlone) most_ = settings.memory_rows / page_;
}

Index PageBudget::own(Index rows, Index past) const {
  if (contiguous_) return 1;
  const Index unseen = window_ > 0 ? std::max<Index>(past - window_ + 1, 0) : 0;
  return ceil_div(rows - common_, page_) - std::max<Index>(unseen / page_ - common_pages(), 0);
}

Index PageBudget::most_own(Index rows, Index past, Index end) const {
  Index most = own(rows, past);
  // Until the window is full they only become more; from then on it is the same every page_ rows.
  const Index full = window_ > 0 ? std::max(rows, common_ + window_) : end;
  const Index from = std::max(rows + 1, std::min(full, end));
  const Index steps = contiguous_ ? 0 : std::min(page_, end - from + 1);
  for (Index i = 0; i < steps; ++i) most = std::max(most, own(from + i, from + i - 1));
  return most;
}

Index PageBudget::most_own(const ServingRequest& request) const {
  if (begins_again_) return own(request.rows(), common_);
  return most_own(request.prompt, common_, request.rows());
}

Index shared_rows(const ServingLoad& load, Index page_size) {
  return load.shared_prefix / page_size * page_size;
}

Index least_memory_rows(const ServingLoad& load, const ServingSettings& settings) {
  if (settings.way == ServingWay::kAlone) return 0;
  const PageBudget budget(load, settings);
  // A reservation is for the longest, whoever comes.
  Index most = settings.way == ServingWay::kContiguous ? 1 : 0;
  for (const ServingRequest& one : load.requests) most = std::max(most, budget.most_own(one));
  return (budget.common_pages() + most) * budget.page();
}

}  // namespace attn
