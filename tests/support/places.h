#pragma once

#include <filesystem>

namespace attn::testing {

/// The project's source root.
std::filesystem::path source_folder();

/// Where the built programs are.
std::filesystem::path program_folder();

}  // namespace attn::testing
