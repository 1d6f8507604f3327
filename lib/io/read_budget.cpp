#include "io/read_budget.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {

void ReadBudget::charge(const std::string& path, Index elements, std::size_t bytes_each) {
  const auto bytes = checked_mul(elements, static_cast<Index>(bytes_each));
  Index others = 0;
  for (const auto& [other, charged] : charges_) others += other == path ? 0 : charged;
  if (!bytes || *bytes > max_bytes_ - std::min(others, max_bytes_)) {
    throw DataError(
        fmt::format("{}: with {} its tensors take more than the limit of {} "
                    "(--max-bytes)",
                    input_, escaped(path), short_size_text(max_bytes_)));
  }
  charges_[path] = std::max(charges_[path], *bytes);
}

}  // namespace attn
