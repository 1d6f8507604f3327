#include "train/loss_floor.h"

namespace attn {

bool passes_floor(double loss, double floor) {
  // Logits are float32: a perfect model's loss may come out this much below.
  constexpr double kRounding = 1e-6;
  return loss < floor - kRounding;
}

}  // namespace attn
