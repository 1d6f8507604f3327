#pragma once

#include "check/cases/case_file.h"

namespace attn {

/// A case whose tensors are the values of options and not one file: each is numbers ('1 0; 0 1'), a
/// text file or FILE:/dataset (io/tensor_argument). q is needed, k is q and v is k where they are
/// not given. Fewer than four axes stand for one sequence, and fewer than three for one head.
/// Throws UsageError and DataError that name the option, and validates.
AttentionCase case_from_arguments(const CaseNames& arguments, const CaseAttributes& attributes,
                                  const ReadLimits& limits);

}  // namespace attn
