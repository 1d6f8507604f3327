#pragma once

#include <memory>
#include <string>
#include <vector>

#include "check/cases/case_attributes.h"
#include "check/cases/case_source.h"
#include "check/reference/attention_problem.h"

namespace attn {

/// Keys and values that a case has in pages.
struct PagedCase {
  std::shared_ptr<const KeyPages> pages;
  std::vector<std::string> assumed;  // what nobody said and was taken, in words
  bool values_stood_in = false;      // there is no v_pages: k_pages stands for it
};

/// Are a case's keys in pages? Throws as CaseSource::complain does where k or v stands beside them.
bool has_pages(const CaseSource& source);

/// Reads k_pages, v_pages, block_table and the lengths: kv_lens, or of packed sequences
/// cu_seqlens_k; without these, where each place of the table names a page, `columns` of each
/// sequence, those of recorded maps, or all rows (0). The layout of the pool is what the attributes
/// say, else NHD unless only HND fits: where both do, `assumed` says so. Throws as
/// CaseSource::complain does, naming the dataset, for a page of a sequence that is not in the pool,
/// a table too short for a length, and tensors that do not fit. `values_needed`: without v_pages
/// there is nothing to check.
PagedCase read_pages(const CaseSource& source, const CaseAttributes& attributes, const Shape& q,
                     bool values_needed, Index columns);

/// Puts the pages' rows in linear memory into k, v, and the lengths into kv_lens or cu_seqlens_k:
/// as many rows a sequence as the longest has, or `keys` where maps have more. Throws as
/// CaseSource::complain does where these take more than the source's limits.
void gather_pages(const CaseSource& source, const std::shared_ptr<const KeyPages>& pages,
                  Index keys, AttentionProblem& problem);

}  // namespace attn
