#pragma once

#include <span>
#include <vector>

#include "core/index.h"

namespace attn {

/// Rows of a page that must stand in another one too, before that one is written.
struct PageCopy {
  Index from = 0;
  Index to = 0;
  Index rows = 0;
};

/// Which pages of a pool hold the rows of which sequences, after Kwon et al. 2023
/// (arXiv:2309.06180): a page is `page_size` rows; a sequence is a list of pages; sequences with a
/// common beginning share its pages until one of them writes (copy on write). It knows of no data:
/// whoever keeps the rows carries out the copies.
class PageTable {
 public:
  /// most_pages: of the pool; 0 where it has no bound.
  PageTable(Index page_size, Index most_pages);

  Index page_size() const { return page_size_; }

  /// A new, empty sequence behind the others: returns its number.
  Index add();
  /// Takes a sequence out; later ones move up.
  void remove(Index sequence);
  /// From now on sequence i is what sequence parents[i] was. Throws ShapeError for a parent that
  /// there is not.
  void fork(std::span<const Index> parents);

  Index sequences() const { return static_cast<Index>(sequences_.size()); }
  Index length(Index sequence) const { return at(sequence).length; }
  /// The first row that is still kept: rows before it were forgotten.
  Index first(Index sequence) const { return at(sequence).forgotten * page_size_; }
  /// The pages of the rows from first() on, in order.
  std::span<const Index> pages(Index sequence) const { return at(sequence).pages; }

  /// Takes pages for `rows` rows in all, whether or not they are written yet. Throws DataError when
  /// the pool has too few; then nothing has changed.
  void reserve(Index sequence, Index rows);
  /// Pages that extend() would take.
  Index pages_to_extend(Index sequence, Index count) const;
  /// Throws DataError, which says both numbers, unless so many pages are free.
  void require_free(Index pages) const;
  /// Makes room for `count` more rows behind the last, which count as the sequence's from now on.
  /// Where its last page is another's too, it gets one of its own: that copy is added to `copies`.
  /// Throws DataError when the pool has too few pages; then nothing has changed.
  void extend(Index sequence, Index count, std::vector<PageCopy>& copies);
  /// Forgets all rows from `length` on; pages that were reserved stay.
  void truncate(Index sequence, Index length);
  /// Rows before `row` are in use no more: gives back the pages that hold such rows alone.
  void forget_before(Index sequence, Index row);

  /// Pages that some sequence holds, each counted once.
  Index pages_in_use() const { return in_use_; }
  /// The most that were ever in use.
  Index most_in_use() const { return most_in_use_; }
  /// Rows that some sequence has written and not forgotten, a shared one counted once.
  Index rows_in_use() const;

 private:
  struct Sequence {
    std::vector<Index> pages;
    Index forgotten = 0;   // pages given back at the front
    Index first_used = 0;  // rows before it were forgotten, some in a page that is still held
    Index length = 0;
    Index reserved = 0;  // pages, forgotten ones among them, that truncate leaves
  };

  const Sequence& at(Index sequence) const;
  Sequence& at(Index sequence);
  Index free_pages() const;
  bool shared(Index page) const { return holders_[static_cast<std::size_t>(page)] > 1; }
  Index take();
  void give_back(Index page);

  Index page_size_;
  Index most_pages_;
  std::vector<Sequence> sequences_;
  std::vector<Index> holders_;  // of each page: sequences that hold it
  std::vector<Index> free_;     // a heap: the lowest first, so that neighbours stay neighbours
  Index in_use_ = 0;
  Index most_in_use_ = 0;
};

}  // namespace attn
