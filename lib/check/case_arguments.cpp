#include "check/case_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/tensor_argument.h"

namespace attn {

namespace {

// The tensors of one command line, by the names of the datasets they stand for.
class Arguments {
 public:
  Arguments(const CaseNames& values, const ReadLimits& limits) : values_(values), limits_(limits) {}

  std::optional<Tensor<double>> tensor(const std::string& name, std::size_t axes) const {
    const auto value = values_.find(name);
    if (value == values_.end()) return std::nullopt;
    Tensor<double> read = tensor_argument(value->second, option(name), limits_);
    if (read.shape.size() < axes) {
      read.shape.insert(read.shape.begin(), axes - read.shape.size(), 1);
    }
    return read;
  }

  std::vector<double> numbers(const std::string& name) const {
    auto read = tensor(name, 1);
    if (!read) return {};
    if (read->rank() != 1) {
      throw UsageError(fmt::format("{}: want one row of numbers, got shape {}", option(name),
                                   shape_text(read->shape)));
    }
    return std::move(read->values);
  }

  std::vector<Index> integers(const std::string& name) const {
    constexpr double kMost = 1e15;  // far beyond any length, and exact
    std::vector<Index> whole;
    for (double value : numbers(name)) {
      if (!(std::abs(value) <= kMost) || value != std::floor(value)) {
        throw UsageError(fmt::format("{}: want whole numbers, got {}", option(name), value));
      }
      whole.push_back(static_cast<Index>(value));
    }
    return whole;
  }

 private:
  static std::string option(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name;
  }

  const CaseNames& values_;
  const ReadLimits& limits_;
};

}  // namespace

AttentionCase case_from_arguments(const CaseNames& arguments, const CaseAttributes& attributes,
                                  const ReadLimits& limits) {
  if (arguments.count("causal_probe") != 0) throw UsageError("--causal-probe needs --input");
  const Arguments given(arguments, limits);
  const bool swap = attributes.layout == TensorLayout::kBshd;
  const auto features = [&](const std::string& name) {
    auto tensor = given.tensor(name, 4);
    if (tensor && swap && tensor->rank() == 4) tensor = swap_layout(*tensor);
    return tensor;
  };
  auto q = features("q");
  if (!q) throw UsageError("--q is needed where tensors are given without --input");
  AttentionCase result;
  AttentionProblem& problem = result.problem;
  problem.q = std::move(*q);
  problem.k = features("k").value_or(problem.q);
  problem.v = features("v").value_or(problem.k);
  problem.mask = given.tensor("mask", 4);
  problem.kv_lens = given.integers("kv_lens");
  problem.cu_seqlens_q = given.integers("cu_seqlens_q");
  problem.cu_seqlens_k = given.integers("cu_seqlens_k");
  problem.alibi_slopes = given.numbers("alibi_slopes");
  problem.sinks = given.numbers("sinks");
  result.out = features("out");
  result.weights = given.tensor("weights", 4);
  result.scores = given.tensor("scores", 4);
  result.lse = given.tensor("lse", 3);
  result.perm = given.integers("perm");
  result.out_perm = features("out_perm");
  if (auto d_out = features("dout")) {
    result.gradient = GradientRecord{.d_out = std::move(*d_out),
                                     .d_q = features("dq"),
                                     .d_k = features("dk"),
                                     .d_v = features("dv"),
                                     .d_sinks = given.tensor("dsinks", 1)};
  }
  apply(attributes, result);
  validate(result);
  return result;
}

}  // namespace attn
