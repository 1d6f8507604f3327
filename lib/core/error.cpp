#include "core/error.h"

namespace attn {

void require_shape(bool condition, std::string_view what) {
  if (!condition) throw ShapeError(std::string(what));
}

}  // namespace attn
