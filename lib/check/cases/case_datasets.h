#pragma once

#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace attn {

/// The datasets of a case, in the order of its documentation; those of a group by their path
/// ("causal_probe/k") behind the group.
const std::vector<std::string>& case_datasets();
/// Of these, those that grow with rows, keys and width: a large case reads them part by part.
const std::vector<std::string>& large_case_datasets();

/// Throws DataError for a dataset that the format does not have, unless it is a file of ours.
void refuse_unknown_datasets(const TensorFile& file);

}  // namespace attn
