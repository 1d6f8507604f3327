#include "core/counted.h"

#include <fmt/core.h>

#include "core/text.h"

namespace attn {

std::string counted(Index count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

}  // namespace attn
