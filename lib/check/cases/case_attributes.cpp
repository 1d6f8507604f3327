#include "check/cases/case_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check/cases/case_datasets.h"
#include "check/cases/case_file.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

const std::vector<std::string> kProvenance = {"format", "format_version", "tool_version",
                                              "seed",   "history",        "content_digest"};
const std::vector<std::string> kAttributes = {
    "layout",      "dtype",        "scale",        "causal",    "causal_alignment", "causal_offset",
    "window_left", "window_right", "softcap",      "mask_type", "fully_masked",     "scores_stage",
    "heads",       "kv_heads",     "pages_layout", "page_size"};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> hint_near(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest_word(word, known);
  if (near.empty()) return {};
  return {fmt::format("did you mean '{}'?", near)};
}

// "BHSD" and "bhsd", "top_left" and "top-left" are the same.
std::string plain_word(std::string_view word) {
  std::string plain(word);
  for (char& c : plain) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return plain;
}

template <class Value>
std::optional<Value> one_of(std::string_view word,
                            std::initializer_list<std::pair<const char*, Value>> words) {
  const std::string plain = plain_word(word);
  for (const auto& known : words) {
    if (plain == known.first) return known.second;
  }
  return std::nullopt;
}

template <class Parse>
auto word_attribute(const TensorFile& reader, const char* name, const char* want, Parse parse) {
  const auto text = reader.text_attribute("/", name);
  decltype(parse("")) value;
  if (!text) return value;
  value = parse(*text);
  if (!value) {
    throw DataError(fmt::format("{}: attribute {}: want {}, got '{}'", reader.name(), name, want,
                                escaped(*text)));
  }
  return value;
}

std::optional<Index> count_attribute(const TensorFile& reader, const char* name, Index lowest,
                                     Index highest) {
  const auto value = reader.int_attribute("/", name);
  if (value && (*value < lowest || *value > highest)) {
    throw DataError(fmt::format("{}: attribute {}: want {} to {}, got {}", reader.name(), name,
                                lowest, highest, *value));
  }
  return value;
}

void check_format(const TensorFile& reader) {
  const auto format = reader.text_attribute("/", "format");
  if (format && *format != "attn-case" && *format != "attntools-tensors") {
    const bool checkpoint = *format == "attntools-checkpoint";
    throw DataError(
        fmt::format("{}: want a file of format attn-case or attntools-tensors, got '{}'",
                    reader.name(), escaped(*format)),
        checkpoint ? std::vector<std::string>{"--block 0 --ids '...' looks at the first "
                                              "block of a checkpoint"}
                   : std::vector<std::string>());
  }
  count_attribute(reader, "format_version", 1, 1);
}

}  // namespace

std::optional<CausalAlignment> parse_causal_alignment(std::string_view word) {
  return one_of<CausalAlignment>(word, {{"top-left", CausalAlignment::kTopLeft},
                                        {"bottom-right", CausalAlignment::kBottomRight}});
}

std::optional<MaskType> parse_mask_type(std::string_view word) {
  return one_of<MaskType>(word, {{"bool", MaskType::kBool}, {"additive", MaskType::kAdditive}});
}

std::optional<FullyMasked> parse_fully_masked(std::string_view word) {
  return one_of<FullyMasked>(word, {{"zero", FullyMasked::kZero}, {"nan", FullyMasked::kNan}});
}

std::optional<ScoreStage> parse_scores_stage(std::string_view word) {
  return one_of<ScoreStage>(word, {{"masked", ScoreStage::kMasked},
                                   {"raw", ScoreStage::kRaw},
                                   {"softcapped", ScoreStage::kSoftcapped}});
}

std::optional<DType> parse_checked_dtype(std::string_view word) {
  const auto type = parse_dtype(word);
  if (!type || !is_floating(*type)) return std::nullopt;
  return type;
}

CaseAttributes read_case_attributes(const TensorFile& reader,
                                    const std::vector<std::string>& others) {
  check_format(reader);
  for (const std::string& name : reader.attributes("/")) {
    if (contains(kAttributes, name) || contains(kProvenance, name)) continue;
    if (contains(others, name)) continue;
    if (contains(case_datasets(), name)) continue;  // an array of one number in an .npz
    throw DataError(fmt::format("{}: attribute {} is not supported", reader.name(), escaped(name)),
                    hint_near(name, kAttributes));
  }
  constexpr Index kMost = Index{1} << 31;
  CaseAttributes found;
  found.layout = word_attribute(reader, "layout", "BHSD, BSHD, NBD or BND", parse_layout);
  if (reader.text_attribute("/", "dtype").value_or("") == "tf32") {
    found.dtype = DType::kF32;
    found.tf32 = true;
  } else {
    found.dtype = word_attribute(reader, "dtype", "float32, float16, bfloat16, float64 or tf32",
                                 parse_checked_dtype);
  }
  found.scale = reader.real_attribute("/", "scale");
  if (const auto causal = count_attribute(reader, "causal", 0, 1)) found.causal = *causal == 1;
  found.causal_alignment = word_attribute(reader, "causal_alignment", "top_left or bottom_right",
                                          parse_causal_alignment);
  found.causal_offset = count_attribute(reader, "causal_offset", -kMost, kMost);
  found.window_left = count_attribute(reader, "window_left", -1, kMost);
  found.window_right = count_attribute(reader, "window_right", -1, kMost);
  found.softcap = reader.real_attribute("/", "softcap");
  found.mask_type = word_attribute(reader, "mask_type", "bool or additive", parse_mask_type);
  found.fully_masked = word_attribute(reader, "fully_masked", "zero or nan", parse_fully_masked);
  found.scores_stage =
      word_attribute(reader, "scores_stage", "masked, raw or softcapped", parse_scores_stage);
  found.heads = count_attribute(reader, "heads", 1, kMost);
  found.pages_layout =
      word_attribute(reader, "pages_layout", "NHD, HND or VLLM", parse_pages_layout);
  found.page_size = count_attribute(reader, "page_size", 1, kMost);
  found.kv_heads = reader.int_attribute("/", "kv_heads");
  return found;
}

CaseAttributes merged(const CaseAttributes& over, const CaseAttributes& under) {
  const auto either = [](const auto& first, const auto& second) { return first ? first : second; };
  CaseAttributes both;
  both.layout = either(over.layout, under.layout);
  both.dtype = either(over.dtype, under.dtype);
  both.tf32 = over.dtype ? over.tf32 : under.tf32;
  both.scale = either(over.scale, under.scale);
  both.causal = either(over.causal, under.causal);
  both.causal_alignment = either(over.causal_alignment, under.causal_alignment);
  both.causal_offset = either(over.causal_offset, under.causal_offset);
  // A corner that is asked for replaces an offset that the file states.
  if (over.causal_alignment && !over.causal_offset) both.causal_offset.reset();
  both.window_left = either(over.window_left, under.window_left);
  both.window_right = either(over.window_right, under.window_right);
  both.softcap = either(over.softcap, under.softcap);
  both.mask_type = either(over.mask_type, under.mask_type);
  both.fully_masked = either(over.fully_masked, under.fully_masked);
  both.scores_stage = either(over.scores_stage, under.scores_stage);
  both.heads = either(over.heads, under.heads);
  both.kv_heads = either(over.kv_heads, under.kv_heads);
  both.pages_layout = either(over.pages_layout, under.pages_layout);
  both.page_size = either(over.page_size, under.page_size);
  return both;
}

void apply(const CaseAttributes& attributes, AttentionCase& recorded) {
  const AttentionRules standard;
  AttentionRules& rules = recorded.problem.rules;
  rules.dtype = attributes.dtype.value_or(standard.dtype);
  rules.tf32 = attributes.tf32.value_or(standard.tf32);
  rules.scale = attributes.scale;
  rules.causal = attributes.causal.value_or(standard.causal);
  rules.causal_alignment = attributes.causal_alignment.value_or(standard.causal_alignment);
  rules.causal_offset = attributes.causal_offset;
  rules.window_left = attributes.window_left.value_or(standard.window_left);
  rules.window_right = attributes.window_right.value_or(standard.window_right);
  rules.softcap = attributes.softcap.value_or(standard.softcap);
  rules.mask_type = attributes.mask_type.value_or(standard.mask_type);
  rules.fully_masked = attributes.fully_masked.value_or(standard.fully_masked);
  recorded.scores_stage = attributes.scores_stage.value_or(ScoreStage::kMasked);
  recorded.alignment_given = attributes.causal_alignment || attributes.causal_offset;
}

}  // namespace attn
