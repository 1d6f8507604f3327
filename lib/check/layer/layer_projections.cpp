#include "check/layer/layer_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

const std::vector<std::string> kFused = {"qkv_proj", "in_proj", "c_attn", "query_key_value"};
const std::vector<std::string> kOut = {"out_proj", "o_proj", "c_proj"};

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

class ProjectionReader {
 public:
  ProjectionReader(const TensorFile& file, const LayerAttributes& attributes,
                   const CaseNames& names, const CaseSource& source, LayerProblem& problem)
      : file_(file), attributes_(attributes), names_(names), source_(source), problem_(problem) {}

  void read() {
    const bool turned = transposed();
    LayerProblem& problem = problem_;
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

 private:
  [[noreturn]] void complain(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", file_.name(), what));
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
    const Index in = problem_.x.dim(2);
    return fused && fused->weight.dim(0) == in && fused->weight.dim(1) != in;
  }

  // Its rows can be picked one by one, each with its bias.
  void require_bias_fits(const Projection& all) const {
    if (all.bias.empty() || static_cast<Index>(all.bias.size()) == all.out()) return;
    complain(fmt::format("the fused projection: want a bias of {} numbers, got {}", all.out(),
                         all.bias.size()));
  }

  Index head_dim_of(const Projection& all, Index parts) const {
    if (attributes_.head_dim && *attributes_.head_dim > all.out()) {
      complain(fmt::format("head_dim: want at most the {} rows of the fused projection, got {}",
                           all.out(), *attributes_.head_dim));
    }
    if (attributes_.head_dim) return *attributes_.head_dim;
    if (all.out() % parts != 0) {
      complain(fmt::format("the fused projection has {} rows: no multiple of {} heads", all.out(),
                           parts));
    }
    return all.out() / parts;
  }

  void cut_fused(const Projection& all) {
    require_bias_fits(all);
    LayerProblem& problem = problem_;
    const Index group = problem.heads / problem.kv_heads;
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
    require_bias_fits(pair);
    LayerProblem& problem = problem_;
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

  const TensorFile& file_;
  const LayerAttributes& attributes_;
  const CaseNames& names_;
  const CaseSource& source_;
  LayerProblem& problem_;
};

}  // namespace

void read_projections(const TensorFile& file, const LayerAttributes& attributes,
                      const CaseNames& names, const CaseSource& source, LayerProblem& problem) {
  ProjectionReader(file, attributes, names, source, problem).read();
}

bool holds_layer(const TensorFile& file, const CaseNames& names) {
  std::vector<std::string> projections = kFused;
  projections.emplace_back("q_proj");
  return std::any_of(projections.begin(), projections.end(), [&](const std::string& name) {
    return names.count(name) != 0 || place_of_parameter(file, name, "weight").has_value();
  });
}

}  // namespace attn
