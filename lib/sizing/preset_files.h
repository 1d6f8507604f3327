#pragma once

#include <string_view>
#include <vector>

namespace attn {

/// The texts of data/models, built in so that a program needs no file beside it.
std::vector<std::string_view> preset_files();

}  // namespace attn
