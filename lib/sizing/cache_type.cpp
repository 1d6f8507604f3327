#include "sizing/cache_type.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// ggml's blocks: 32 values with an f16 scale (q8_0, q4_0, q5_0, iq4_nl), with a minimum too (q4_1,
// q5_1), and the fifth bits of q5 apart.
const std::array<CacheType, 12>& types() {
  static const std::array<CacheType, 12> all = {{{"f64", 1, 8},
                                                 {"f32", 1, 4},
                                                 {"f16", 1, 2},
                                                 {"bf16", 1, 2},
                                                 {"fp8", 1, 1},
                                                 {"int8", 1, 1},
                                                 {"q8_0", 32, 34},
                                                 {"q5_1", 32, 24},
                                                 {"q5_0", 32, 22},
                                                 {"q4_1", 32, 20},
                                                 {"q4_0", 32, 18},
                                                 {"iq4_nl", 32, 18}}};
  return all;
}

std::string canonical(std::string_view name) {
  std::string word(name);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (word == "fp8_e4m3" || word == "fp8_e5m2" || word == "float8" || word == "f8") return "fp8";
  const auto dtype = parse_dtype(word);
  if (dtype == DType::kI8) return "int8";
  if (dtype && is_floating(*dtype)) return std::string(dtype_name(*dtype));
  return word;
}

}  // namespace

const CacheType& cache_type(std::string_view name, std::string_view option) {
  const std::string word = canonical(name);
  for (const CacheType& type : types()) {
    if (type.name == word) return type;
  }
  const std::vector<std::string> known = cache_type_names();
  std::vector<std::string> hints = {fmt::format("known: {}", fmt::join(known, ", "))};
  const std::string near = nearest_word(word, known);
  if (!near.empty()) hints.insert(hints.begin(), fmt::format("did you mean '{}'?", near));
  throw UsageError(fmt::format("{}: unknown cache type '{}'", option, escaped(name)), hints);
}

std::vector<std::string> cache_type_names() {
  std::vector<std::string> names;
  for (const CacheType& type : types()) names.push_back(type.name);
  return names;
}

}  // namespace attn
