#pragma once

#include <optional>

#include "check/mistakes/supposition_list.h"

namespace attn {

// What the suppositions about pages share.

/// Whose pages are read wrongly.
struct PagePools {
  bool k, v;
  const char* text;  // before a detail
};
inline constexpr PagePools kPagePools[] = {
    {true, true, ""}, {true, false, "keys alone: "}, {false, true, "values alone: "}};

/// The rows of its pages that a problem is about; none where it has no pages, or where another
/// mistake has changed its heads.
std::optional<KeyBox> rows_in_pages(const AttentionProblem& problem);

/// How the rows of a page are read: as pages of another size, with heads and rows taken for each
/// other, and beyond a sequence's end.
void suppose_page_rows(SuppositionList& list);

}  // namespace attn
