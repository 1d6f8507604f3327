#include "check/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

const std::vector<std::string> kProvenance = {"format", "format_version", "tool_version",
                                              "seed",   "history",        "content_digest"};
const std::vector<std::string> kAttributes = {
    "layout",        "dtype",        "scale",        "causal",  "causal_alignment",
    "causal_offset", "window_left",  "window_right", "softcap", "mask_type",
    "fully_masked",  "scores_stage", "kv_heads"};

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
    throw DataError(fmt::format("{}: want a file of format attn-case, got '{}'", reader.name(),
                                escaped(*format)));
  }
  count_attribute(reader, "format_version", 1, 1);
}

// One case, dataset by dataset.
class CaseReader {
 public:
  CaseReader(const TensorFile& reader, const CaseAttributes& attributes, const CaseNames& names)
      : reader_(reader), attributes_(attributes), names_(names) {}

  AttentionCase read() {
    if (names_.empty()) refuse_unknown();
    AttentionCase result;
    AttentionProblem& problem = result.problem;
    problem.q = features("q");
    problem.k = features("k");
    problem.v = features("v");
    problem.mask = optional("mask");
    problem.kv_lens = integers("kv_lens");
    problem.cu_seqlens_q = integers("cu_seqlens_q");
    problem.cu_seqlens_k = integers("cu_seqlens_k");
    problem.alibi_slopes = numbers("alibi_slopes");
    problem.sinks = numbers("sinks");
    if (has("out")) result.out = features("out");
    result.weights = optional("weights");
    result.scores = optional("scores");
    result.lse = optional("lse");
    StoredTypes& stored = result.stored;
    note_type("out", stored.out);
    note_type("weights", stored.weights);
    note_type("scores", stored.scores);
    note_type("lse", stored.lse);
    note_type("out_perm", stored.out_perm);
    result.perm = integers("perm");
    if (has("out_perm")) result.out_perm = features("out_perm");
    const std::string probe = path("causal_probe");
    if (reader_.has_group(probe)) {
      const auto changed = reader_.read<Index>(probe + "/first_changed_key");
      if (changed.size() != 1) complain("causal_probe/first_changed_key: want one number");
      result.probe = CausalProbe{in_layout(probe + "/k"), in_layout(probe + "/v"),
                                 in_layout(probe + "/out"), changed.values.front()};
      stored.probe_out = reader_.info(probe + "/out").type;
    }
    if (has("dout")) result.gradient = gradient();
    apply(attributes_, result);
    check(result);
    return result;
  }

 private:
  [[noreturn]] void complain(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", reader_.name(), what));
  }

  std::string path(const std::string& name) const {
    const auto mapped = names_.find(name);
    return mapped != names_.end() ? mapped->second : "/" + name;
  }

  // A name that somebody mapped must be there; one of the format may be absent.
  bool has(const std::string& name) const {
    return names_.count(name) != 0 || reader_.has_dataset(path(name));
  }

  std::optional<Tensor<double>> optional(const std::string& name) const {
    if (!has(name)) return std::nullopt;
    return reader_.read<double>(path(name));
  }

  void note_type(const std::string& name, DType& type) const {
    if (has(name)) type = reader_.info(path(name)).type;
  }

  std::vector<double> numbers(const std::string& name) const {
    auto tensor = optional(name);
    if (!tensor) return {};
    check_one_axis(name, tensor->shape);
    return std::move(tensor->values);
  }

  std::vector<Index> integers(const std::string& name) const {
    if (!has(name)) return {};
    Tensor<Index> tensor = reader_.read<Index>(path(name));
    check_one_axis(name, tensor.shape);
    return std::move(tensor.values);
  }

  void check_one_axis(const std::string& name, const Shape& shape) const {
    if (shape.size() == 1 && shape[0] > 0) return;
    complain(fmt::format("{}: want one axis and at least one number, got shape {}", name,
                         shape_text(shape)));
  }

  Tensor<double> in_layout(const std::string& dataset) const {
    Tensor<double> tensor = reader_.read<double>(dataset);
    if (attributes_.layout.value_or(TensorLayout::kBhsd) == TensorLayout::kBhsd) return tensor;
    if (tensor.rank() != 4) {
      complain(fmt::format("{}: want 4 axes (batch, rows, heads, features), got shape {}", dataset,
                           shape_text(tensor.shape)));
    }
    return swap_layout(tensor);
  }

  Tensor<double> features(const std::string& name) const { return in_layout(path(name)); }

  GradientRecord gradient() const {
    GradientRecord record;
    record.d_out = features("dout");
    const auto take = [this](const char* name, std::optional<Tensor<double>>& to, DType& type) {
      if (has(name)) to = features(name);
      note_type(name, type);
    };
    take("dq", record.d_q, record.stored_d_q);
    take("dk", record.d_k, record.stored_d_k);
    take("dv", record.d_v, record.stored_d_v);
    record.d_sinks = optional("dsinks");
    note_type("dsinks", record.stored_d_sinks);
    return record;
  }

  void refuse_unknown() const {
    if (reader_.text_attribute("/", "format").value_or("") == "attntools-tensors") return;
    for (const std::string& child : reader_.children("/")) {
      if (contains(case_datasets(), child)) continue;
      if (reader_.has_attribute("/", child)) continue;  // of an .npz, where attributes are arrays
      throw DataError(
          fmt::format("{}: dataset {} is not supported", reader_.name(), escaped(child)),
          hint_near(child, case_datasets()));
    }
  }

  void check(const AttentionCase& result) const {
    try {
      validate(result);
    } catch (const DataError& error) {
      complain(error.what());
    }
    const Index kv_heads = result.problem.kv_heads();
    if (attributes_.kv_heads.value_or(kv_heads) != kv_heads) {
      complain(
          fmt::format("kv_heads says {}, but k has {} heads", *attributes_.kv_heads, kv_heads));
    }
  }

  const TensorFile& reader_;
  const CaseAttributes& attributes_;
  const CaseNames& names_;
};

}  // namespace

const std::vector<std::string>& case_datasets() {
  static const std::vector<std::string> names = {
      "q",     "k",    "v",        "out",          "weights",      "scores",
      "lse",   "mask", "kv_lens",  "cu_seqlens_q", "cu_seqlens_k", "alibi_slopes",
      "sinks", "perm", "out_perm", "causal_probe", "dout",         "dq",
      "dk",    "dv",   "dsinks"};
  return names;
}

std::optional<TensorLayout> parse_layout(std::string_view word) {
  return one_of<TensorLayout>(word, {{"bhsd", TensorLayout::kBhsd}, {"bshd", TensorLayout::kBshd}});
}

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

CaseAttributes read_case_attributes(const TensorFile& reader) {
  check_format(reader);
  for (const std::string& name : reader.attributes("/")) {
    if (contains(kAttributes, name) || contains(kProvenance, name)) continue;
    if (contains(case_datasets(), name)) continue;  // an array of one number in an .npz
    throw DataError(fmt::format("{}: attribute {} is not supported", reader.name(), escaped(name)),
                    hint_near(name, kAttributes));
  }
  constexpr Index kMost = Index{1} << 31;
  CaseAttributes found;
  found.layout = word_attribute(reader, "layout", "BHSD or BSHD", parse_layout);
  found.dtype =
      word_attribute(reader, "dtype", "float32, float16, bfloat16 or float64", parse_checked_dtype);
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
  found.kv_heads = reader.int_attribute("/", "kv_heads");
  return found;
}

CaseAttributes merged(const CaseAttributes& over, const CaseAttributes& under) {
  const auto either = [](const auto& first, const auto& second) { return first ? first : second; };
  CaseAttributes both;
  both.layout = either(over.layout, under.layout);
  both.dtype = either(over.dtype, under.dtype);
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
  both.kv_heads = either(over.kv_heads, under.kv_heads);
  return both;
}

void apply(const CaseAttributes& attributes, AttentionCase& recorded) {
  const AttentionRules standard;
  AttentionRules& rules = recorded.problem.rules;
  rules.dtype = attributes.dtype.value_or(standard.dtype);
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

AttentionCase read_case(const TensorFile& reader, const CaseAttributes& attributes,
                        const CaseNames& names) {
  return CaseReader(reader, attributes, names).read();
}

Tensor<double> swap_layout(const Tensor<double>& tensor) {
  const Shape& from = tensor.shape;
  require_shape(from.size() == 4, "swap_layout: want 4 axes");
  Tensor<double> swapped({from[0], from[2], from[1], from[3]});
  const Index features = from[3];
  for (Index b = 0; b < from[0]; ++b) {
    for (Index x = 0; x < from[1]; ++x) {
      for (Index y = 0; y < from[2]; ++y) {
        std::copy_n(tensor.data() + ((b * from[1] + x) * from[2] + y) * features, features,
                    swapped.data() + ((b * from[2] + y) * from[1] + x) * features);
      }
    }
  }
  return swapped;
}

}  // namespace attn
