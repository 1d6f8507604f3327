#include "io/computation_order.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/index.h"

namespace attn {
namespace {

constexpr int kUnknown = 1000;

// Earlier words come earlier; a word is known by the start of a part of a name.
int rank_of(std::string_view part) {
  static const std::vector<std::vector<std::string_view>> kOrder = {
      {"input", "tokens", "x"},
      {"embed", "tok_emb", "wte", "word_emb"},
      {"position", "pos_", "wpe"},
      {"encoder"},
      {"context", "memory"},
      {"decoder"},
      {"parameters", "model", "transformer"},
      {"blocks", "block", "layers", "layer", "h"},
      {"norm1", "ln_1", "input_layernorm", "attn_norm", "self_attn_layer_norm"},
      {"attn", "self_attn", "attention", "c_attn"},
      {"q", "q_proj", "query"},
      {"k", "k_proj", "key"},
      {"v", "v_proj", "value"},
      {"mask", "kv_lens", "cu_seqlens", "alibi", "sinks"},
      {"scores"},
      {"lse"},
      {"weights"},
      {"heads"},
      {"out", "out_proj", "o_proj", "c_proj"},
      {"norm_cross", "ln_cross"},
      {"cross"},
      {"norm2", "ln_2", "post_attention_layernorm", "mlp_norm"},
      {"mlp", "ffn", "feed_forward"},
      {"gate", "fc1", "c_fc", "w1"},
      {"up", "w3"},
      {"down", "fc2", "w2"},
      {"norm", "ln_f", "final"},
      {"head", "lm_head", "logits"},
      {"loss"},
      {"training"},
      {"optimizer"}};
  // The longest word that it begins with tells: "norm_cross" is not "norm".
  std::size_t longest = 0;
  int rank = kUnknown;
  for (std::size_t n = 0; n < kOrder.size(); ++n) {
    for (const std::string_view word : kOrder[n]) {
      const bool whole = part == word;
      const bool starts = word.size() > 2 && part.starts_with(word);
      if (!(whole || starts) || word.size() < longest) continue;
      longest = word.size();
      rank = static_cast<int>(n);
    }
  }
  return rank;
}

struct Part {
  int rank = kUnknown;
  Index number = -1;
  std::string text;

  bool operator<(const Part& other) const {
    if (rank != other.rank) return rank < other.rank;
    if (number != other.number) return number < other.number;
    return text < other.text;
  }
};

std::vector<Part> parts_of(const std::string& name) {
  std::vector<Part> parts;
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t end = std::min(name.find_first_of("/.", at), name.size());
    Part part;
    part.text = name.substr(at, end - at);
    const char* last = part.text.data() + part.text.size();
    const auto [stop, error] = std::from_chars(part.text.data(), last, part.number);
    if (error != std::errc() || stop != last) part.number = -1;
    if (part.number < 0) part.rank = rank_of(part.text);
    if (!part.text.empty()) parts.push_back(std::move(part));
    at = end + 1;
  }
  return parts;
}

}  // namespace

void sort_by_computation(std::vector<std::string>& names) {
  std::vector<std::pair<std::vector<Part>, std::string>> keyed;
  keyed.reserve(names.size());
  for (std::string& name : names) keyed.emplace_back(parts_of(name), std::move(name));
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    if (a.first < b.first) return true;
    if (b.first < a.first) return false;
    return a.second < b.second;
  });
  names.clear();
  for (auto& one : keyed) names.push_back(std::move(one.second));
}

}  // namespace attn
