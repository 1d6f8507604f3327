#pragma once

#include "check/cases/attention_case.h"
#include "check/cases/case_attributes.h"
#include "check/cases/case_source.h"

namespace attn {

/// A whole case, in (batch, heads, rows, features) whatever its layout, and validated. DataError
/// names file and object where q, k or v are missing, where shapes do not fit, and, unless names
/// are mapped, for a dataset that the format does not have. Where attributes leave something open,
/// the case's `assumed` says what was taken.
AttentionCase read_case(const TensorFile& file, const CaseAttributes& attributes,
                        const CaseNames& names, const ReadLimits& limits = {});

/// The same of any source. Of options alone, k is q and v is k where they are not given.
AttentionCase assemble_case(const CaseSource& source, CaseAttributes attributes);

}  // namespace attn
