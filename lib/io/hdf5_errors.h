#pragma once

#include <string>

namespace attn {

/// Throws the DataError for a library call that failed while reading `what` (the input, or
/// "input: /object"): damaged, or a newer format than this library reads.
[[noreturn]] void fail_damaged(const std::string& what);

}  // namespace attn
