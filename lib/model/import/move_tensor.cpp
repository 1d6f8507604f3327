#include "model/import/move_tensor.h"

namespace attn {

void move_tensor(const HfMapping& mapping, float* theirs, float* ours, MoveTo to) {
  const bool matrix = mapping.shape.size() == 2;
  const Index cols = matrix ? mapping.shape.back() : 1;
  Index first = 0;  // of this parameter's outputs
  for (const ParamInfo& info : mapping.holds) {
    const Index outputs = info.shape.front();
    const Index inputs = matrix ? info.shape.back() : 1;
    float* values = ours + info.place.offset;
    for (Index o = 0; o < outputs; ++o) {
      for (Index i = 0; i < inputs; ++i) {
        const Index at = mapping.transposed ? i * cols + first + o : (first + o) * cols + i;
        if (to == MoveTo::kOurs) {
          values[o * inputs + i] = theirs[at];
        } else {
          theirs[at] = values[o * inputs + i];
        }
      }
    }
    first += outputs;
  }
}

}  // namespace attn
