#include "nn/page_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "core/ceil_div.h"
#include "core/error.h"

namespace attn {

PageTable::PageTable(Index page_size, Index most_pages)
    : page_size_(page_size), most_pages_(most_pages) {
  require_shape(page_size >= 1 && most_pages >= 0, "page table: sizes below 1");
}

const PageTable::Sequence& PageTable::at(Index sequence) const {
  require_shape(sequence >= 0 && sequence < sequences(), "page table: no such sequence");
  return sequences_[static_cast<std::size_t>(sequence)];
}

PageTable::Sequence& PageTable::at(Index sequence) {
  return const_cast<Sequence&>(std::as_const(*this).at(sequence));
}

Index PageTable::free_pages() const {
  if (most_pages_ == 0) return std::numeric_limits<Index>::max();
  return most_pages_ - in_use_;
}

Index PageTable::take() {
  Index page = static_cast<Index>(holders_.size());
  if (free_.empty()) {
    holders_.push_back(0);
  } else {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    page = free_.back();
    free_.pop_back();
  }
  holders_[static_cast<std::size_t>(page)] = 1;
  most_in_use_ = std::max(most_in_use_, ++in_use_);
  return page;
}

void PageTable::give_back(Index page) {
  if (--holders_[static_cast<std::size_t>(page)] > 0) return;
  --in_use_;
  free_.push_back(page);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

Index PageTable::add() {
  sequences_.emplace_back();
  return sequences() - 1;
}

void PageTable::remove(Index sequence) {
  for (const Index page : at(sequence).pages) give_back(page);
  sequences_.erase(sequences_.begin() + sequence);
}

void PageTable::fork(std::span<const Index> parents) {
  std::vector<Sequence> forked;
  forked.reserve(parents.size());
  for (const Index parent : parents) forked.push_back(at(parent));
  for (const Sequence& sequence : forked) {
    for (const Index page : sequence.pages) ++holders_[static_cast<std::size_t>(page)];
  }
  for (const Sequence& sequence : sequences_) {
    for (const Index page : sequence.pages) give_back(page);
  }
  sequences_ = std::move(forked);
}

void PageTable::require_free(Index pages) const {
  if (pages <= free_pages()) return;
  throw DataError(fmt::format("the cache is full: {} more pages are wanted, {} of {} are free",
                              pages, free_pages(), most_pages_));
}

void PageTable::reserve(Index sequence, Index rows) {
  Sequence& s = at(sequence);
  const Index wanted = ceil_div(rows, page_size_);
  const Index more = wanted - s.forgotten - static_cast<Index>(s.pages.size());
  require_free(more);
  for (Index n = 0; n < more; ++n) s.pages.push_back(take());
  s.reserved = std::max(s.reserved, wanted);
}

Index PageTable::pages_to_extend(Index sequence, Index count) const {
  if (count == 0) return 0;
  const Sequence& s = at(sequence);
  const Index have = static_cast<Index>(s.pages.size());
  const Index wanted = ceil_div(s.length + count, page_size_) - s.forgotten;
  Index pages = std::max<Index>(wanted - have, 0);
  for (Index i = s.length / page_size_ - s.forgotten; i < std::min(wanted, have); ++i) {
    if (shared(s.pages[static_cast<std::size_t>(i)])) ++pages;
  }
  return pages;
}

void PageTable::extend(Index sequence, Index count, std::vector<PageCopy>& copies) {
  Sequence& s = at(sequence);
  require_shape(count >= 0, "page table: rows below 0");
  require_free(pages_to_extend(sequence, count));
  if (count == 0) return;
  const Index wanted = ceil_div(s.length + count, page_size_) - s.forgotten;
  while (static_cast<Index>(s.pages.size()) < wanted) s.pages.push_back(take());
  // From the page of the next row on they must be this sequence's alone.
  const Index next = s.length / page_size_ - s.forgotten;
  for (Index i = next; i < wanted; ++i) {
    Index& page = s.pages[static_cast<std::size_t>(i)];
    if (!shared(page)) continue;
    const Index own = take();
    const Index written = s.length % page_size_;
    if (i == next && written > 0) copies.push_back({page, own, written});
    give_back(page);
    page = own;
  }
  s.length += count;
}

void PageTable::truncate(Index sequence, Index length) {
  Sequence& s = at(sequence);
  require_shape(length >= 0 && length <= s.length, "page table: truncate beyond the length");
  if (length < s.forgotten * page_size_) {
    require_shape(length == 0, "page table: truncate into what was forgotten");
    s.forgotten = 0;
    for (const Index page : s.pages) give_back(page);
    s.pages.clear();
  }
  // A shorter sequence sees rows again that a longer one had left behind.
  if (length < s.length) s.first_used = s.forgotten * page_size_;
  s.length = length;
  const Index kept = std::max(ceil_div(length, page_size_), s.reserved) - s.forgotten;
  while (static_cast<Index>(s.pages.size()) > kept) {
    give_back(s.pages.back());
    s.pages.pop_back();
  }
}

void PageTable::forget_before(Index sequence, Index row) {
  Sequence& s = at(sequence);
  row = std::clamp<Index>(row, 0, s.length);
  s.first_used = std::max(s.first_used, row);
  const Index gone = row / page_size_ - s.forgotten;
  if (gone <= 0) return;
  for (Index i = 0; i < gone; ++i) give_back(s.pages[static_cast<std::size_t>(i)]);
  s.pages.erase(s.pages.begin(), s.pages.begin() + gone);
  s.forgotten += gone;
}

Index PageTable::rows_in_use() const {
  // Of a page that several hold, what any of them uses: from the earliest first row to the longest
  // end. All write from the page's beginning on, so that there is no gap.
  struct Part {
    Index first = std::numeric_limits<Index>::max();
    Index end = 0;
  };
  std::vector<Part> parts(holders_.size());
  for (const Sequence& s : sequences_) {
    for (std::size_t i = 0; i < s.pages.size(); ++i) {
      const Index before = (s.forgotten + static_cast<Index>(i)) * page_size_;
      Part& part = parts[static_cast<std::size_t>(s.pages[i])];
      part.first = std::min(part.first, std::clamp<Index>(s.first_used - before, 0, page_size_));
      part.end = std::max(part.end, std::clamp<Index>(s.length - before, 0, page_size_));
    }
  }
  Index total = 0;
  for (const Part& part : parts) total += std::max<Index>(part.end - part.first, 0);
  return total;
}

}  // namespace attn
