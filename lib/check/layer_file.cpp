#include "check/layer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/layer_reference.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

const std::vector<std::string> kLayerAttributes = {
    "head_dim", "rope_style", "rope_base",   "rotary_dim",
    "pos0",     "qk_stage",   "fused_order", "weights_transposed"};
const std::vector<std::string> kFused = {"qkv_proj", "in_proj", "c_attn", "query_key_value"};
const std::vector<std::string> kOut = {"out_proj", "o_proj", "c_proj"};

std::string plain_word(std::string_view word) {
  std::string plain(word);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

// Where a parameter's weight or bias stands; nothing where it does not.
std::optional<std::string> place_of_parameter(const TensorFile& file, const std::string& name,
                                              const std::string& part) {
  const std::string base = name.empty() || name.front() != '/' ? "/" + name : name;
  for (const char* folder : {"", "/parameters"}) {
    for (const char* joint : {"/", ".", "_"}) {
      std::string path = folder + base + joint + part;
      if (file.has_dataset(path)) return path;
    }
  }
  if (part == "weight" && file.has_dataset(base)) return base;
  return std::nullopt;
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

Projection rows_of(const Projection& all, const std::vector<Index>& rows) {
  Projection part;
  const Index in = all.in();
  part.weight = Tensor<double>({static_cast<Index>(rows.size()), in});
  double* to = part.weight.data();
  for (const Index row : rows) {
    to = std::copy_n(all.weight.data() + row * in, in, to);
    if (!all.bias.empty()) part.bias.push_back(all.bias[static_cast<std::size_t>(row)]);
  }
  return part;
}

class LayerReader {
 public:
  LayerReader(const TensorFile& file, const CaseAttributes& rules,
              const LayerAttributes& attributes, const CaseNames& names, const ReadLimits& limits)
      : file_(file),
        rules_(rules),
        attributes_(attributes),
        names_(names),
        source_(file, names, limits) {}

  LayerCase read() {
    LayerProblem& problem = layer_.problem;
    problem.x = sequences("x", first_of({"x", "input/x"}));
    if (const auto context = place_of({"context", "input/context"})) {
      problem.context = sequences("context", *context);
    }
    problem.heads = rules_.heads ? *rules_.heads : heads_of_maps();
    problem.kv_heads = rules_.kv_heads.value_or(problem.heads);
    read_projections();
    read_rope();
    read_rules();
    read_steps();
    check_fit();
    return std::move(layer_);
  }

  void read_into(LayerCase& layer) {
    layer_ = std::move(layer);
    LayerProblem& problem = layer_.problem;
    if (source_.has("x")) {
      problem.x = sequences("x", "x");
      layer_.x_is = "of the dump, as the layer reads it";
    }
    if (problem.context && source_.has("context")) {
      problem.context = sequences("context", "context");
    }
    read_steps();
    check_fit();
    layer = std::move(layer_);
  }

 private:
  void check_fit() const {
    const LayerProblem& problem = layer_.problem;
    try {
      validate(layer_);
      AttentionProblem between =
          attention_between(problem, Tensor<double>(step_shape(problem, LayerStep::kQ)),
                            Tensor<double>(step_shape(problem, LayerStep::kK)),
                            Tensor<double>(step_shape(problem, LayerStep::kV)));
      validate(between);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", file_.name(), error.what()));
    }
  }

  [[noreturn]] void complain(const std::string& what,
                             const std::vector<std::string>& hints = {}) const {
    throw DataError(fmt::format("{}: {}", file_.name(), what), hints);
  }

  // The first of some names that is there, or that somebody named.
  std::optional<std::string> place_of(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (source_.has(name)) return name;
    }
    return std::nullopt;
  }

  std::string first_of(const std::vector<std::string>& names) const {
    const auto found = place_of(names);
    if (!found) complain(fmt::format("no dataset /{}", names.front()));
    return *found;
  }

  bool rows_first() const { return rules_.layout == TensorLayout::kNbd; }

  // (batch, rows, features); two axes are one sequence.
  Tensor<double> sequences(const char* what, const std::string& name) {
    Tensor<double> tensor = source_.require(name).tensor;
    if (tensor.rank() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
    if (tensor.rank() != 3) {
      complain(fmt::format("{}: want 3 axes (batch, rows, features), got shape {}", what,
                           shape_text(tensor.shape)));
    }
    if (!rows_first()) return tensor;
    Tensor<double> split = to_bhsd(std::move(tensor), TensorLayout::kNbd, 1);
    split.shape.erase(split.shape.begin() + 1);
    return split;
  }

  Index heads_of_maps() const {
    for (const char* name : {"weights", "scores", "expected/weights"}) {
      if (!source_.has(name)) continue;
      const Shape shape = source_.require(name).tensor.shape;
      if (shape.size() == 4) return shape[1];
    }
    complain("how many heads? an attribute 'heads' says it, or --heads");
  }

  std::string base_of(const std::string& name) const {
    const auto mapped = names_.find(name);
    return mapped == names_.end() ? name : mapped->second;
  }

  // NAME's matrix as it is stored, and its bias; nothing where it is not there.
  std::optional<Projection> stored(const std::string& name) const {
    Projection projection;
    const std::string base = base_of(name);
    if (const auto weight = place_of_parameter(file_, base, "weight")) {
      projection.weight = file_.read<double>(*weight);
    } else if (names_.count(name) != 0) {
      projection.weight = source_.require(name).tensor;
    } else {
      return std::nullopt;
    }
    if (projection.weight.rank() != 2) {
      complain(fmt::format("{}.weight: want 2 axes, got shape {}", name,
                           shape_text(projection.weight.shape)));
    }
    if (const auto bias = place_of_parameter(file_, base, "bias")) {
      projection.bias = file_.read<double>(*bias).values;
    }
    return projection;
  }

  static void turn(Projection& projection) {
    const Tensor<double> was = std::move(projection.weight);
    projection.weight = Tensor<double>({was.dim(1), was.dim(0)});
    for (Index i = 0; i < was.dim(0); ++i) {
      for (Index c = 0; c < was.dim(1); ++c) {
        projection.weight.data()[c * was.dim(0) + i] = was.data()[i * was.dim(1) + c];
      }
    }
  }

  std::optional<Projection> taken(const std::string& name, bool transposed) const {
    auto projection = stored(name);
    if (projection && transposed) turn(*projection);
    return projection;
  }

  // GPT-2's Conv1D holds (in, out); its fused matrix shows it.
  bool transposed() const {
    if (attributes_.weights_transposed) return *attributes_.weights_transposed;
    const auto fused = stored("c_attn");
    const Index in = layer_.problem.x.dim(2);
    return fused && fused->weight.dim(0) == in && fused->weight.dim(1) != in;
  }

  Index head_dim_of(const Projection& all, Index parts) const {
    if (attributes_.head_dim) return *attributes_.head_dim;
    if (all.out() % parts != 0) {
      complain(fmt::format("the fused projection has {} rows: no multiple of {} heads", all.out(),
                           parts));
    }
    return all.out() / parts;
  }

  void cut_fused(const Projection& all) {
    LayerProblem& problem = layer_.problem;
    const Index group = std::max<Index>(1, problem.heads / problem.kv_heads);
    const Index dim = head_dim_of(all, problem.heads + 2 * problem.kv_heads);
    const Index queries = problem.heads * dim;
    const Index keys = problem.kv_heads * dim;
    if (all.out() != queries + 2 * keys) {
      complain(
          fmt::format("the fused projection: want (heads + 2 * kv_heads) * head_dim = {} "
                      "rows, got {}",
                      queries + 2 * keys, all.out()));
    }
    std::array<std::vector<Index>, 3> rows;
    const bool by_heads = attributes_.fused_order == FusedOrder::kHeads;
    for (Index row = 0; row < all.out(); ++row) {
      const Index slot = row / dim % (group + 2);
      std::size_t part = row < queries ? 0 : row < queries + keys ? 1 : 2;
      if (by_heads) part = slot < group ? 0 : slot == group ? 1 : 2;
      rows[part].push_back(row);
    }
    problem.q_proj = rows_of(all, rows[0]);
    problem.k_proj = rows_of(all, rows[1]);
    problem.v_proj = rows_of(all, rows[2]);
  }

  void cut_pair(const Projection& pair) {
    LayerProblem& problem = layer_.problem;
    const bool by_heads = attributes_.fused_order == FusedOrder::kHeads;
    const Index dim = std::max<Index>(1, pair.out() / (2 * problem.kv_heads));
    std::array<std::vector<Index>, 2> rows;
    for (Index row = 0; row < pair.out(); ++row) {
      const bool second = by_heads ? row / dim % 2 == 1 : row >= pair.out() / 2;
      rows[second ? 1 : 0].push_back(row);
    }
    problem.k_proj = rows_of(pair, rows[0]);
    problem.v_proj = rows_of(pair, rows[1]);
  }

  void read_projections() {
    LayerProblem& problem = layer_.problem;
    const bool turned = transposed();
    for (const std::string& name : kOut) {
      if (!problem.out_proj) problem.out_proj = taken(name, turned);
    }
    for (const std::string& name : kFused) {
      const auto fused = taken(name, turned);
      if (!fused) continue;
      cut_fused(*fused);
      return;
    }
    const auto need = [&](const char* name) {
      auto projection = taken(name, turned);
      if (!projection) complain(fmt::format("no {}.weight", name));
      return std::move(*projection);
    };
    problem.q_proj = need("q_proj");
    if (const auto pair = taken("kv_proj", turned)) {
      cut_pair(*pair);
      return;
    }
    problem.k_proj = need("k_proj");
    problem.v_proj = need("v_proj");
  }

  void read_rope() {
    LayerProblem& problem = layer_.problem;
    if (!attributes_.rope_style) return;
    LayerRope rope;
    rope.pairs = *attributes_.rope_style;
    rope.base = attributes_.rope_base.value_or(rope.base);
    rope.pos0 = attributes_.pos0.value_or(0);
    const Index rotary_dim = attributes_.rotary_dim.value_or(problem.head_dim());
    if (rotary_dim % 2 != 0 || !(rope.base > 0)) {
      complain(fmt::format("rope: want an even rotary_dim and a base above 0, got {} and {}",
                           rotary_dim, rope.base));
    }
    rope.inv_freq = rope_inverse_frequencies(rope.base, rotary_dim);
    problem.rope = std::move(rope);
  }

  void read_rules() {
    LayerProblem& problem = layer_.problem;
    AttentionCase rules;
    apply(rules_, rules);
    AttentionProblem& attention = problem.attention;
    attention.rules = rules.problem.rules;
    if (auto mask = source_.find("mask")) {
      while (mask->tensor.rank() < 4) mask->tensor.shape.insert(mask->tensor.shape.begin(), 1);
      attention.mask = std::move(mask->tensor);
    } else if (const auto keys = place_of({"key_mask", "input/key_mask"})) {
      Tensor<double> shown = source_.require(*keys).tensor;
      if (shown.rank() != 2) complain("key_mask: want 2 axes (batch, kv_len)");
      shown.shape = {shown.dim(0), 1, 1, shown.dim(1)};
      attention.mask = std::move(shown);
    }
    attention.kv_lens = source_.integers("kv_lens");
    attention.cu_seqlens_q = source_.integers("cu_seqlens_q");
    attention.cu_seqlens_k = source_.integers("cu_seqlens_k");
    attention.alibi_slopes = source_.numbers("alibi_slopes");
    attention.sinks = source_.numbers("sinks");
    if (file_.has_attribute("/", "position") && file_.text_attribute("/", "position") == "alibi" &&
        attention.alibi_slopes.empty()) {
      attention.alibi_slopes = alibi_slopes(problem.heads);
    }
  }

  // Heads side by side or apart, as (batch, heads, rows, features).
  Tensor<double> by_heads(Tensor<double> tensor, Index heads) const {
    const TensorLayout given = rules_.layout.value_or(TensorLayout::kBhsd);
    if (tensor.rank() == 4) {
      return to_bhsd(std::move(tensor), heads_are_joined(given) ? TensorLayout::kBhsd : given,
                     heads);
    }
    const TensorLayout joined = rows_first() ? TensorLayout::kNbd : TensorLayout::kBnd;
    return to_bhsd(std::move(tensor), joined, heads);
  }

  void read_step(LayerStep step, const std::vector<std::string>& names) {
    const auto place = place_of(names);
    if (!place) return;
    CaseSource::Found found = source_.require(*place);
    layer_.stored[static_cast<std::size_t>(step)] = found.type;
    const LayerProblem& problem = layer_.problem;
    Tensor<double>& to = layer_.recorded[step];
    try {
      switch (step) {
        case LayerStep::kQ:
          to = by_heads(std::move(found.tensor), problem.heads);
          break;
        case LayerStep::kK:
        case LayerStep::kV:
          to = by_heads(std::move(found.tensor), problem.kv_heads);
          break;
        case LayerStep::kHeads:
          to = join_heads(by_heads(std::move(found.tensor), problem.heads));
          break;
        case LayerStep::kOutput:
          to = sequences("output", *place);
          break;
        case LayerStep::kScores:
        case LayerStep::kWeights:
          to = std::move(found.tensor);
          break;
      }
    } catch (const DataError& error) {
      complain(fmt::format("{}: {}", layer_step_name(step), error.what()));
    }
  }

  void read_steps() {
    read_step(LayerStep::kQ, {"q"});
    read_step(LayerStep::kK, {"k", "expected/key_cache"});
    read_step(LayerStep::kV, {"v", "expected/value_cache"});
    if (rules_.scores_stage.value_or(ScoreStage::kMasked) == ScoreStage::kMasked) {
      read_step(LayerStep::kScores, {"scores"});
    }
    read_step(LayerStep::kWeights, {"weights", "expected/weights"});
    read_step(LayerStep::kHeads, {"heads"});
    read_step(LayerStep::kOutput, {"output", "expected/output"});
    layer_.qk_stage = attributes_.qk_stage.value_or(QkStage::kEither);
  }

  const TensorFile& file_;
  const CaseAttributes& rules_;
  const LayerAttributes& attributes_;
  const CaseNames& names_;
  const CaseSource source_;
  LayerCase layer_;
};

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

bool holds_layer(const TensorFile& file, const CaseNames& names) {
  std::vector<std::string> projections = kFused;
  projections.emplace_back("q_proj");
  return std::any_of(projections.begin(), projections.end(), [&](const std::string& name) {
    return names.count(name) != 0 || place_of_parameter(file, name, "weight").has_value();
  });
}

LayerAttributes read_layer_attributes(const TensorFile& file) {
  LayerAttributes found;
  const auto count = [&](const char* name, Index least) {
    const auto value = file.int_attribute("/", name);
    if (value && *value < least) {
      throw DataError(fmt::format("{}: attribute {}: want {} or more, got {}", file.name(), name,
                                  least, *value));
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

LayerCase read_layer(const TensorFile& file, const CaseAttributes& rules,
                     const LayerAttributes& attributes, const CaseNames& names,
                     const ReadLimits& limits) {
  return LayerReader(file, rules, attributes, names, limits).read();
}

void read_layer_steps(const TensorFile& file, const CaseAttributes& rules,
                      const LayerAttributes& attributes, const CaseNames& names,
                      const ReadLimits& limits, LayerCase& layer) {
  LayerReader(file, rules, attributes, names, limits).read_into(layer);
}

}  // namespace attn
