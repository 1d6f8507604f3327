#include "check/cases/case_datasets.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

struct Dataset {
  const char* name;
  bool large;
};

constexpr Dataset kDatasets[] = {
    {"q", true},
    {"k", true},
    {"v", true},
    {"out", true},
    {"weights", true},
    {"scores", true},
    {"lse", false},
    {"mask", true},
    {"k_pages", false},
    {"v_pages", false},
    {"block_table", false},
    {"kv_lens", false},
    {"cu_seqlens_q", false},
    {"cu_seqlens_k", false},
    {"alibi_slopes", false},
    {"sinks", false},
    {"perm", false},
    {"out_perm", true},
    {"causal_probe", false},
    {"causal_probe/k", true},
    {"causal_probe/v", true},
    {"causal_probe/out", true},
    {"causal_probe/first_changed_key", false},
    {"dout", false},
    {"dq", false},
    {"dk", false},
    {"dv", false},
    {"dsinks", false},
};

std::vector<std::string> names_of(bool large_alone) {
  std::vector<std::string> names;
  for (const Dataset& one : kDatasets) {
    if (one.large || !large_alone) names.emplace_back(one.name);
  }
  return names;
}

}  // namespace

const std::vector<std::string>& case_datasets() {
  static const std::vector<std::string> names = names_of(false);
  return names;
}

const std::vector<std::string>& large_case_datasets() {
  static const std::vector<std::string> names = names_of(true);
  return names;
}

void refuse_unknown_datasets(const TensorFile& file) {
  const std::optional<std::string> format = file.text_attribute("/", "format");
  if (format && std::string_view(*format) == "attntools-tensors") return;
  for (const std::string& child : file.children("/")) {
    const auto& known = case_datasets();
    if (std::find(known.begin(), known.end(), child) != known.end()) continue;
    if (file.has_attribute("/", child)) continue;  // of an .npz, where attributes are arrays
    std::vector<std::string> hints;
    const std::string near = nearest_word(child, known);
    if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
    throw DataError(fmt::format("{}: dataset {} is not supported", file.name(), escaped(child)),
                    hints);
  }
}

}  // namespace attn
