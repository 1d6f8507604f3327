#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace attn {

/// Whether a limit of address space is kept. An emulator of another processor, which needs address
/// space itself, takes such a limit and forgets it (qemu-user).
inline bool address_space_can_be_limited() {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit wanted = {std::min(before.rlim_cur, rlim_t{1} << 46), before.rlim_max};
  rlimit got{};
  setrlimit(RLIMIT_AS, &wanted);
  getrlimit(RLIMIT_AS, &got);
  setrlimit(RLIMIT_AS, &before);
  return got.rlim_cur == wanted.rlim_cur;
}

}  // namespace attn
