#include "check/layer/layer_attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

const std::vector<std::string> kLayerAttributes = {
    "head_dim", "rope_style", "rope_base",   "rotary_dim",
    "pos0",     "qk_stage",   "fused_order", "weights_transposed"};

std::string plain_word(std::string_view word) {
  std::string plain(word);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

template <class Value, class Parse>
std::optional<Value> word(const TensorFile& file, const char* name, const char* want, Parse parse) {
  const auto text = file.text_attribute("/", name);
  if (!text) return std::nullopt;
  const std::optional<Value> value = parse(*text);
  if (!value) {
    throw DataError(fmt::format("{}: attribute {}: want {}, got '{}'", file.name(), name, want,
                                escaped(*text)));
  }
  return value;
}

std::optional<RopePairs> parse_pairs(std::string_view text) {
  const std::string plain = plain_word(text);
  if (plain == "half-split") return RopePairs::kHalves;
  if (plain == "interleaved") return RopePairs::kInterleaved;
  return std::nullopt;
}

}  // namespace

std::optional<FusedOrder> parse_fused_order(std::string_view text) {
  const std::string plain = plain_word(text);
  if (plain == "blocks") return FusedOrder::kBlocks;
  if (plain == "heads") return FusedOrder::kHeads;
  return std::nullopt;
}

std::optional<QkStage> parse_qk_stage(std::string_view text) {
  const std::string plain = plain_word(text);
  if (plain == "projected") return QkStage::kProjected;
  if (plain == "rotated") return QkStage::kRotated;
  return std::nullopt;
}

LayerAttributes read_layer_attributes(const TensorFile& file) {
  LayerAttributes found;
  constexpr Index kMost = Index{1} << 31;
  const auto count = [&](const char* name, Index least) {
    const auto value = file.int_attribute("/", name);
    if (value && (*value < least || *value > kMost)) {
      throw DataError(fmt::format("{}: attribute {}: want {} to {}, got {}", file.name(), name,
                                  least, kMost, *value));
    }
    return value;
  };
  found.head_dim = count("head_dim", 1);
  found.rotary_dim = count("rotary_dim", 2);
  found.pos0 = count("pos0", 0);
  if (const auto style = file.text_attribute("/", "rope_style"); style && *style != "none") {
    found.rope_style =
        word<RopePairs>(file, "rope_style", "half_split, interleaved or none", parse_pairs);
  }
  found.rope_base = file.real_attribute("/", "rope_base");
  if (const auto turned = file.int_attribute("/", "weights_transposed")) {
    found.weights_transposed = *turned != 0;
  }
  found.fused_order = word<FusedOrder>(file, "fused_order", "blocks or heads", parse_fused_order);
  found.qk_stage = word<QkStage>(file, "qk_stage", "projected or rotated", parse_qk_stage);
  return found;
}

CaseAttributes read_layer_rules(const TensorFile& file) {
  if (file.text_attribute("/", "arch") != "attention") {
    return read_case_attributes(file, kLayerAttributes);
  }
  CaseAttributes rules = read_case_attributes(file, file.attributes("/"));
  // A layer that was decoded with a cache is causal.
  if (!rules.causal) rules.causal = file.has_attribute("/", "prompt_len");
  return rules;
}

LayerAttributes merged(const LayerAttributes& over, const LayerAttributes& under) {
  const auto either = [](const auto& first, const auto& second) { return first ? first : second; };
  LayerAttributes both;
  both.head_dim = either(over.head_dim, under.head_dim);
  both.rope_style = either(over.rope_style, under.rope_style);
  both.rope_base = either(over.rope_base, under.rope_base);
  both.rotary_dim = either(over.rotary_dim, under.rotary_dim);
  both.pos0 = either(over.pos0, under.pos0);
  both.weights_transposed = either(over.weights_transposed, under.weights_transposed);
  both.fused_order = either(over.fused_order, under.fused_order);
  both.qk_stage = either(over.qk_stage, under.qk_stage);
  return both;
}

}  // namespace attn
