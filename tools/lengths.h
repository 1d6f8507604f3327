#pragma once

#include <string>
#include <vector>

#include "core/index.h"

namespace attn {

/// Lengths of sequences as --lengths has them: drawn (uniform:LOW:HIGH, geometric:MEAN,
/// lognormal:MEAN:SIGMA; `count` of them, at most `longest`, by the seed), the numbers of a text,
/// or a dataset of an HDF5 file (FILE.h5:/dataset). Throws DataError, which names the file, for
/// lengths below 1 and for none.
std::vector<Index> asked_lengths(const std::string& lengths, Index count, Index longest, Index seed,
                                 Index max_bytes);

}  // namespace attn
