#include "bench/machine.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

namespace attn {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && line.starts_with("model name")) return line.substr(colon + 2);
  }
  return {};
}

// "1024K" or "32M" -> bytes.
Index cache_bytes(const std::string& text) {
  Index count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc{}) return 0;
  const std::string unit(read.ptr);
  const Index factor = unit == "K" ? 1024 : unit == "M" ? 1024 * 1024 : 1;
  return checked_mul(count, factor).value_or(0);
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = cpu_model();
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.load = load_average();
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level");
    if (level.empty()) break;
    const std::string type = first_line(folder + "type");
    const Index bytes = cache_bytes(first_line(folder + "size"));
    if (type == "Instruction") continue;
    if (level == "1") machine.l1_data_bytes = bytes;
    if (level == "2") machine.l2_bytes = bytes;
    if (level == "3") machine.l3_bytes = bytes;
  }
  return machine;
}

std::string build_type() {
  return ATTNTOOLS_BUILD_TYPE;
}

std::string compiler() {
  return ATTNTOOLS_COMPILER;
}

}  // namespace attn
