#include "check/layer/layer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/layer/layer_projections.h"
#include "check/layer/layer_reference.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

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
    if (problem.heads < 1 || problem.kv_heads < 1 || problem.heads % problem.kv_heads != 0) {
      complain(fmt::format("kv_heads must divide heads: {} does not divide {}", problem.kv_heads,
                           problem.heads));
    }
    read_projections(file_, attributes_, names_, source_, problem);
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

  void read_rope() {
    LayerProblem& problem = layer_.problem;
    if (!attributes_.rope_style) return;
    LayerRope rope;
    rope.pairs = *attributes_.rope_style;
    rope.base = attributes_.rope_base.value_or(rope.base);
    rope.pos0 = attributes_.pos0.value_or(0);
    const Index rotary_dim = attributes_.rotary_dim.value_or(problem.head_dim());
    if (rotary_dim > problem.head_dim()) {
      complain(fmt::format("rotary_dim: want an even number up to head_dim {}, got {}",
                           problem.head_dim(), rotary_dim));
    }
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
    // An .npz has the number of heads under the name that a step has.
    if (found.tensor.rank() <= 1 && found.tensor.size() == 1) return;
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
