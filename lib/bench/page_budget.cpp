#include "bench/page_budget.h"

#include "core/ceil_div.h"

namespace attn {

PageBudget::PageBudget(const ServingLoad& load, const ServingSettings& settings)
    : contiguous_(settings.way == ServingWay::kContiguous || settings.way == ServingWay::kAlone),
      page_(contiguous_ ? load.longest : settings.page_size),
      common_(settings.way == ServingWay::kShared ? shared_rows(load, page_) : 0) {
  if (settings.way != ServingWay::kAlone) most_ = settings.memory_rows / page_;
}

Index PageBudget::own(Index rows) const {
  if (contiguous_) return 1;
  return ceil_div(rows - common_, page_);
}

Index shared_rows(const ServingLoad& load, Index page_size) {
  return load.shared_prefix / page_size * page_size;
}

Index least_memory_rows(const ServingLoad& load, const ServingSettings& settings) {
  if (settings.way == ServingWay::kAlone) return 0;
  const PageBudget budget(load, settings);
  return (budget.common_pages() + budget.own(load.longest)) * budget.page();
}

}  // namespace attn
