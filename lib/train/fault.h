#pragma once

#include <optional>
#include <string>

#include "nn/param_store.h"

namespace attn {

/// Where a number stopped being finite.
struct Fault {
  enum class What {
    kLoss,       // of a batch or an evaluation
    kGradient,   // the loss was finite
    kParameter,  // after an update
    kMoment      // AdamW's, after an update
  };
  What what = What::kLoss;
  /// The first parameter with a number that is not finite, in its values or, where all values are
  /// finite, in its gradient; empty where there is none.
  std::string parameter;
  bool in_values = false;

  /// "the gradient of blocks.0.attn.q_proj.weight is not finite", "the loss and the value of
  /// head.bias are not finite", "the loss is not finite".
  std::string text() const;
};

/// The first parameter with a number in the flat buffer that is not finite; null where there is
/// none.
template <class T>
const ParamInfo* first_not_finite(const ParamStore<T>& params, const T* buffer);

}  // namespace attn
