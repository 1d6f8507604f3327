#include "core/memory.h"

#include <fmt/core.h>

#include <fstream>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace attn {

Index available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  Index kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return checked_mul(kibibytes, 1024).value_or(0);
    std::getline(file, unit);
  }
  return std::numeric_limits<Index>::max();
}

void require_memory(std::string_view who, double bytes) {
  if (bytes > static_cast<double>(available_memory())) refuse_memory(who, bytes);
}

void refuse_memory(std::string_view who, double bytes) {
  throw DataError(
      fmt::format("{} needs {} of memory, {} are free", who,
                  bytes < 9e18 ? short_size_text(static_cast<Index>(bytes)) : "more than 8 EiB",
                  short_size_text(available_memory())));
}

}  // namespace attn
