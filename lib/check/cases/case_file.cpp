#include "check/cases/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "check/cases/case_assumptions.h"
#include "check/cases/case_datasets.h"
#include "check/cases/case_pages.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// One case, tensor by tensor.
class CaseAssembly {
 public:
  CaseAssembly(const CaseSource& source, CaseAttributes attributes)
      : source_(source), attributes_(std::move(attributes)) {}

  AttentionCase assemble() {
    CaseShapes shapes;
    std::optional<CaseSource::Found> q = source_.require("q");
    std::optional<CaseSource::Found> k = source_.find("k");
    std::optional<CaseSource::Found> v = source_.find("v");
    std::optional<CaseSource::Found> out = source_.find("out");
    const bool paged = has_pages(source_);
    if (!paged) stand_in(*q, k, v, out.has_value());
    AttentionCase result;
    AttentionProblem& problem = result.problem;
    result.weights = maps("weights");
    result.scores = maps("scores");
    problem.mask = maps("mask");
    shapes.q = q->tensor.shape;
    if (paged) gather(result, q->tensor.shape, out.has_value());
    shapes.keys_in_bhsd = paged;
    shapes.k = paged ? problem.k.shape : k->tensor.shape;
    shapes.v = paged ? problem.v.shape : v->tensor.shape;
    if (out) shapes.out = out->tensor.shape;
    if (result.weights) shapes.maps = result.weights->shape;
    if (result.scores) shapes.maps = result.scores->shape;
    if (const auto& mask = result.problem.mask) {
      shapes.mask_adds = std::any_of(mask->values.begin(), mask->values.end(),
                                     [](double value) { return value != 0 && value != 1; });
    }
    given_ = attributes_;
    if (attributes_.layout && heads_are_joined(*attributes_.layout) && !attributes_.heads) {
      source_.complain("q",
                       fmt::format("layout {} has the heads side by side: say how many (--heads)",
                                   layout_name(*attributes_.layout)));
    }
    const std::vector<std::string> assumed = assume(shapes, out ? out->type : q->type, attributes_);
    assumed_.insert(assumed_.begin(), assumed.begin(), assumed.end());
    problem.q = features("q", std::move(q->tensor));
    if (paged && problem.k.dim(0) != problem.batch()) {
      source_.complain("block_table",
                       fmt::format("want a row for each of {} sequences of q, got {}",
                                   problem.batch(), problem.pages->sequences()));
    }
    if (!paged) {
      problem.k = features("k", std::move(k->tensor));
      problem.v = features("v", std::move(v->tensor));
    }
    if (out) result.out = features("out", std::move(out->tensor));
    settle_axes(result);
    problem.cu_seqlens_q = source_.integers("cu_seqlens_q");
    if (!paged) {
      problem.kv_lens = source_.integers("kv_lens");
      problem.cu_seqlens_k = source_.integers("cu_seqlens_k");
    }
    problem.alibi_slopes = source_.numbers("alibi_slopes");
    problem.sinks = source_.numbers("sinks");
    if (auto lse = source_.find("lse")) {
      while (lse->tensor.rank() < 3) lse->tensor.shape.insert(lse->tensor.shape.begin(), 1);
      result.lse = std::move(lse->tensor);
      result.stored.lse = lse->type;
    }
    result.perm = source_.integers("perm");
    if (auto second = source_.find("out_perm")) {
      result.out_perm = features("out_perm", std::move(second->tensor));
      result.stored.out_perm = second->type;
    }
    if (out) result.stored.out = out->type;
    result.stored.weights = type_of("weights");
    result.stored.scores = type_of("scores");
    read_probe(result);
    read_gradient(result);
    apply(attributes_, result);
    result.layout = *attributes_.layout;
    check(result);
    result.assumed = assumptions(given_, attributes_, assumed_, result);
    result.assumed.insert(result.assumed.end(), notes_.begin(), notes_.end());
    return result;
  }

 private:
  // Keys and values from pages, as many as maps have columns where there are some.
  void gather(AttentionCase& result, const Shape& q, bool has_out) {
    Index columns = 0;
    for (const auto* map : {&result.weights, &result.scores, &result.problem.mask}) {
      if (*map && !(*map)->shape.empty() && (*map)->shape.back() > 1) {
        columns = std::max(columns, (*map)->shape.back());
      }
    }
    const PagedCase paged = read_pages(source_, attributes_, q, has_out, columns);
    assumed_ = paged.assumed;
    if (paged.values_stood_in) {
      notes_.emplace_back(
          "there is no v_pages: k_pages stands for it, and only scores and weights mean anything");
    }
    gather_pages(source_, paged.pages, columns, result.problem);
  }

  // Of options alone, and where a file has only q and k for their weights.
  void stand_in(const CaseSource::Found& q, std::optional<CaseSource::Found>& k,
                std::optional<CaseSource::Found>& v, bool has_out) {
    if (!k && !source_.has_file()) k = q;
    if (!k) k = source_.require("k");
    if (!v && source_.has_file() && !has_out) {
      notes_.emplace_back(
          "there is no v: k stands for it, and only scores and weights mean anything");
      v = k;
    }
    if (!v && !source_.has_file()) v = k;
    if (!v) v = source_.require("v");
  }

  Index heads_of(const std::string& name) const {
    const Index heads = attributes_.heads.value_or(1);
    const bool keys =
        name == "k" || name == "v" || name == "causal_probe/k" || name == "causal_probe/v";
    return keys ? attributes_.kv_heads.value_or(heads) : heads;
  }

  Tensor<double> features(const std::string& name, Tensor<double> tensor) const {
    try {
      return to_bhsd(std::move(tensor), *attributes_.layout, heads_of(name));
    } catch (const DataError& error) {
      source_.complain(name, error.what());
    }
  }

  std::optional<Tensor<double>> maps(const std::string& name) {
    auto found = source_.find(name);
    if (!found) return std::nullopt;
    types_.emplace_back(name, found->type);
    return std::move(found->tensor);
  }

  DType type_of(const std::string& name) const {
    for (const auto& [known, type] : types_) {
      if (known == name) return type;
    }
    return DType::kF64;
  }

  // Masks and maps of fewer axes belong to all heads of one sequence, or to the only head of each;
  // PyTorch's MultiheadAttention has masks of (batch * heads, rows, keys) too.
  void settle_axes(AttentionCase& result) const {
    const Index batch = result.problem.batch();
    const Index heads = result.problem.heads();
    for (auto* map : {&result.problem.mask, &result.weights, &result.scores}) {
      if (!*map) continue;
      Shape& shape = (*map)->shape;
      if (shape.size() == 3 && batch > 1 && shape[0] == batch * heads) {
        shape = {batch, heads, shape[1], shape[2]};
      }
      while (shape.size() < 4) shape.insert(shape.begin(), 1);
    }
  }

  void read_probe(AttentionCase& result) {
    if (!source_.has("causal_probe/out")) {
      if (source_.has("causal_probe")) source_.require("causal_probe/out");
      return;
    }
    const auto changed = source_.require("causal_probe/first_changed_key").tensor;
    if (changed.size() != 1) source_.complain("causal_probe/first_changed_key", "want one number");
    CaseSource::Found out = source_.require("causal_probe/out");
    result.probe = CausalProbe{features("causal_probe/k", source_.require("causal_probe/k").tensor),
                               features("causal_probe/v", source_.require("causal_probe/v").tensor),
                               features("causal_probe/out", std::move(out.tensor)),
                               whole(changed.values.front())};
    result.stored.probe_out = out.type;
  }

  void read_gradient(AttentionCase& result) const {
    auto d_out = source_.find("dout");
    if (!d_out) return;
    GradientRecord& record = result.gradient.emplace();
    record.d_out = features("dout", std::move(d_out->tensor));
    const auto take = [this](const char* name, std::optional<Tensor<double>>& to, DType& type) {
      auto found = source_.find(name);
      if (!found) return;
      to = features(name, std::move(found->tensor));
      type = found->type;
    };
    take("dq", record.d_q, record.stored_d_q);
    take("dk", record.d_k, record.stored_d_k);
    take("dv", record.d_v, record.stored_d_v);
    if (auto d_sinks = source_.find("dsinks")) {
      record.d_sinks = std::move(d_sinks->tensor);
      record.stored_d_sinks = d_sinks->type;
    }
  }

  Index whole(double value) const {
    constexpr double kMost = 1e15;
    if (!(value >= -kMost && value <= kMost) ||
        value != static_cast<double>(static_cast<Index>(value))) {
      source_.complain("causal_probe/first_changed_key",
                       fmt::format("want a whole number, got {}", value));
    }
    return static_cast<Index>(value);
  }

  void check(const AttentionCase& result) const {
    const auto complain = [&](const std::string& what) {
      throw DataError(source_.has_file() ? source_.file_name() + ": " + what : what);
    };
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
    const Index heads = result.problem.heads();
    if (attributes_.heads.value_or(heads) != heads) {
      complain(fmt::format("heads says {}, but q has {}", *attributes_.heads, heads));
    }
  }

  const CaseSource& source_;
  CaseAttributes attributes_;
  CaseAttributes given_;
  std::vector<std::string> assumed_;
  std::vector<std::string> notes_;
  std::vector<std::pair<std::string, DType>> types_;
};

}  // namespace

AttentionCase read_case(const TensorFile& file, const CaseAttributes& attributes,
                        const CaseNames& names, const ReadLimits& limits) {
  if (names.empty()) refuse_unknown_datasets(file);
  return assemble_case(CaseSource(file, names, limits), attributes);
}

AttentionCase assemble_case(const CaseSource& source, CaseAttributes attributes) {
  return CaseAssembly(source, std::move(attributes)).assemble();
}

}  // namespace attn
