#pragma once

#include <string_view>

#include "core/index.h"

namespace attn {

/// Bytes that may be taken now without pushing others out; the largest Index where the system does
/// not tell.
Index available_memory();

/// Throws DataError "WHO needs 3.2 TiB of memory, 12 GiB are free" where fewer than `bytes` are
/// available. For asking before memory is taken: an allocation that the system promises and cannot
/// give ends in a kill. A double, since what cannot be had may not fit 63 bits either.
void require_memory(std::string_view who, double bytes);

/// Throws that DataError, where the system would not give them.
[[noreturn]] void refuse_memory(std::string_view who, double bytes);

}  // namespace attn
