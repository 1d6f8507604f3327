#pragma once

#include <string>
#include <vector>

#include "check/attention_case.h"
#include "check/case_attributes.h"
#include "check/case_source.h"

namespace attn {

/// The datasets of a case, in the order of its documentation; those of a group by their path
/// ("causal_probe/k") behind the group.
const std::vector<std::string>& case_datasets();

/// A whole case, in (batch, heads, rows, features) whatever its layout, and validated. DataError
/// names file and object where q, k or v are missing, where shapes do not fit, and, unless names
/// are mapped, for a dataset that the format does not have. Where attributes leave something open,
/// the case's `assumed` says what was taken.
AttentionCase read_case(const TensorFile& file, const CaseAttributes& attributes,
                        const CaseNames& names, const ReadLimits& limits = {});

/// Throws DataError for a dataset that the format does not have, unless it is a file of ours.
void refuse_unknown_datasets(const TensorFile& file);

/// The same of any source. Of options alone, k is q and v is k where they are not given.
AttentionCase assemble_case(const CaseSource& source, CaseAttributes attributes);

}  // namespace attn
