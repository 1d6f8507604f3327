#pragma once

#include <string>
#include <string_view>

#include "core/index.h"

namespace attn {

/// "1 token", "2,048 tokens".
std::string counted(Index count, std::string_view noun);

}  // namespace attn
