#include "check/cases/case_datasets.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace attn {

const std::vector<std::string>& case_datasets() {
  static const std::vector<std::string> names = {"q",
                                                 "k",
                                                 "v",
                                                 "out",
                                                 "weights",
                                                 "scores",
                                                 "lse",
                                                 "mask",
                                                 "k_pages",
                                                 "v_pages",
                                                 "block_table",
                                                 "kv_lens",
                                                 "cu_seqlens_q",
                                                 "cu_seqlens_k",
                                                 "alibi_slopes",
                                                 "sinks",
                                                 "perm",
                                                 "out_perm",
                                                 "causal_probe",
                                                 "causal_probe/k",
                                                 "causal_probe/v",
                                                 "causal_probe/out",
                                                 "causal_probe/first_changed_key",
                                                 "dout",
                                                 "dq",
                                                 "dk",
                                                 "dv",
                                                 "dsinks"};
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
