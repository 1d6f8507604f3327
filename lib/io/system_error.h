#pragma once

#include <fmt/core.h>

#include <string>
#include <system_error>

#include "core/error.h"

namespace attn {

/// Throws the DataError for a system call on `name` that failed with `error`, an errno:
/// "NAME: No space left on device".
[[noreturn]] inline void fail_system(const std::string& name, int error) {
  throw DataError(fmt::format("{}: {}", name, std::generic_category().message(error)));
}

}  // namespace attn
