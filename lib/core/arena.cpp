#include "core/arena.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace attn {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestBlock = std::size_t{1} << 20;

std::size_t rounded_up(std::size_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void* Arena::bytes(std::size_t count) {
  const std::size_t wanted = rounded_up(std::max<std::size_t>(count, 1));
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < wanted) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t last = blocks_.empty() ? 0 : blocks_.back().size;
    const std::size_t size = std::max({wanted, kSmallestBlock, 2 * last});
    Block made{std::unique_ptr<std::byte[]>(new std::byte[size + kAlignment]), nullptr, size};
    const auto address = reinterpret_cast<std::uintptr_t>(made.memory.get());
    made.start = made.memory.get() + (kAlignment - address % kAlignment) % kAlignment;
    blocks_.push_back(std::move(made));
  }
  void* made = blocks_[block_].start + used_;
  used_ += wanted;
  in_use_ += wanted;
  peak_ = std::max(peak_, in_use_);
  return made;
}

void Arena::rewind(std::size_t block, std::size_t used, std::size_t in_use) {
#ifdef ATTNTOOLS_ASAN
  // A view that outlives its scope reads NaNs and not what happened to be there.
  for (std::size_t i = block; i < blocks_.size() && i <= block_; ++i) {
    const std::size_t from = i == block ? used : 0;
    const std::size_t to = i == block_ ? used_ : blocks_[i].size;
    if (to > from) std::memset(blocks_[i].start + from, 0xff, to - from);
  }
#endif
  block_ = block;
  used_ = used;
  in_use_ = in_use;
}

std::size_t Arena::reserved_bytes() const {
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  return total;
}

}  // namespace attn
