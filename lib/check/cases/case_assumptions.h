#pragma once

#include <string>
#include <vector>

#include "check/cases/case_attributes.h"

namespace attn {

/// The axes of a case's tensors as they are stored; empty where there is none.
struct CaseShapes {
  Shape q, k, v, out;
  bool keys_in_bhsd = false;  ///< k and v were put into that order, whatever q has
  Shape maps;                 ///< of weights or scores: (batch, heads, rows, keys)
  bool mask_adds = false;     ///< the mask has other numbers than 0 and 1
};

/// Fills in the layout, the type and the kind of mask that nobody gave: BHSD unless only BSHD fits
/// the shapes and kv_heads, float32 unless the tensors are stored in a 16-bit type, and boolean
/// unless the mask has other numbers than 0 and 1. Returns what was taken and
/// why, in words.
std::vector<std::string> assume(const CaseShapes& shapes, DType stored, CaseAttributes& attributes);

/// Everything that was taken because nothing says otherwise, in one line; empty where all was said.
/// `given` is what file and options said, `used` what applies, `settled` what `assume` returned.
std::vector<std::string> assumptions(const CaseAttributes& given, const CaseAttributes& used,
                                     const std::vector<std::string>& settled,
                                     const AttentionCase& recorded);

}  // namespace attn
