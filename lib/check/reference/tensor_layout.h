#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace attn {

/// How the axes of q, k, v and out are stored; maps and lse have heads before rows in all of them.
enum class TensorLayout {
  kBhsd,  ///< (batch, heads, rows, features)
  kBshd,  ///< (batch, rows, heads, features)
  kNbd,   ///< (rows, batch, heads * features), PyTorch's MultiheadAttention
  kBnd,   ///< (batch, rows, heads * features), the same with batch_first
};

/// By its letters, BHSD or bhsd ...; nothing for another word.
std::optional<TensorLayout> parse_layout(std::string_view word);
/// "BHSD" ..., as files spell it.
const char* layout_name(TensorLayout layout);
/// "(batch, rows, heads, features)" ...
const char* layout_axes(TensorLayout layout);
/// True where the heads stand side by side on the last axis, so that their number must be said.
bool heads_are_joined(TensorLayout layout);

/// The axes in (batch, heads, rows, features). Fewer axes stand for one sequence, and two or one
/// for one head of rows (of heads side by side, where the layout joins them). `heads` counts where
/// they are joined. A shape without values gives such a one. Throws DataError "want ..., got shape
/// ..." for what does not fit.
Tensor<double> to_bhsd(Tensor<double> tensor, TensorLayout layout, Index heads);

/// The four axes in a layout's order.
Tensor<double> from_bhsd(const Tensor<double>& tensor, TensorLayout layout);

/// Swaps the two middle axes of four: from BHSD to BSHD and back.
Tensor<double> swap_layout(const Tensor<double>& tensor);

}  // namespace attn
