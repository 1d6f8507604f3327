#include "io/number_layout.h"

#include <fmt/core.h>

namespace attn {

std::string StoredType::name() const {
  std::string text = big_endian && size > 1 ? "big-endian " : "";
  if (standard) return text + std::string(dtype_name(type));
  if (kind == Kind::kFloat) {
    return text + fmt::format("{}-bit float", 1 + exponent_bits + mantissa_bits);
  }
  return text +
         fmt::format("{}-bit {} integer", precision, kind == Kind::kSigned ? "signed" : "unsigned");
}

}  // namespace attn
