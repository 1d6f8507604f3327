#pragma once

#include <array>
#include <cstdint>

#include "core/matrix.h"

namespace attn {

/// Which numbers of a matrix dropout hides (Srivastava et al. 2014; the others are divided by
/// 1 - rate, so that a sum's expectation stays). A number is hidden by its place alone: (head, row,
/// col) has 32 random bits, output col / 8 % 4 of the Philox4x32-10 block of counter
/// (col / 32 * 8 + col % 8, row, head, 0), and is hidden where they are below the threshold. So no
/// mask is stored, and none depends on tiles, threads or the width of a vector.
struct DropoutMask {
  std::array<std::uint32_t, 2> key{};  // of one layer, sequence and update
  std::uint32_t threshold = 0;         // rate * 2^32; 0: nothing is hidden
  Index first_row = 0;                 // the place of row 0
  double factor = 1;                   // of what is not hidden: 1 / (1 - rate)

  bool on() const { return threshold != 0; }
};

/// The mask of one layer (any number that is its own), sequence and update; the three count modulo
/// 2^32. Throws ShapeError unless 0 <= rate < 1.
DropoutMask dropout_mask(double rate, std::uint64_t seed, Index step, Index layer, Index sequence);

/// The definition above, number by number; row counts from mask.first_row.
bool is_dropped(const DropoutMask& mask, Index head, Index row, Index col);

/// Hides and scales the numbers of x, as of head 0: forward on a layer's output, and backward on
/// the gradient of what forward made.
template <class T>
void drop(const DropoutMask& mask, Matrix<T> x);

}  // namespace attn
