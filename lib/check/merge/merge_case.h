#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/cases/case_file.h"
#include "check/merge/merge_answers.h"

namespace attn {

/// What a file holds of a merge: the answer to a part of the keys or to all, and perhaps the
/// queries and keys that it answers.
struct MergeFile {
  std::string name;
  AttentionCase recorded;     // with its problem where has_keys; out and lse where recorded
  CaseAttributes attributes;  // the options' over the file's
  TensorLayout layout = TensorLayout::kBhsd;
  bool has_keys = false;

  PartialAnswer answer() const { return {*recorded.out, *recorded.lse}; }
};

/// Reads out and lse, and q, k and v where they are there. DataError as read_case has it, and for
/// an lse that is NaN or plus infinity anywhere.
MergeFile read_merge_file(const TensorFile& file, const CaseAttributes& options,
                          const CaseNames& names, const ReadLimits& limits = {});

/// Throws DataError, which names file and tensor, unless each of these has out and lse, and all of
/// the same shape.
void require_parts(const std::vector<MergeFile>& parts);

}  // namespace attn
