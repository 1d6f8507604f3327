#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/reference/attention_problem.h"
#include "check/reference/reference_attention.h"
#include "check/verdict/tolerance.h"

namespace attn {

/// Whose tests decide what is near enough: this program's own, or another project's. E is the
/// largest error of a plain implementation in the checked type.
enum class House {
  kOurs,      // largest and mean error against several honest orders (check/verdict/tolerance.h)
  kPytorch,   // test_transformers: |error| <= 4 * max(E, 1e-3 or 1e-5) + 4 * rtol * |truth|
  kFlash,     // FlashAttention 2: largest error <= 2 * E + 1e-5, E with scaled keys
  kGgml,      // test-backend-ops: normalised mean squared error <= 5e-4
  kXformers,  // |error| <= atol + rtol * |truth|, by type
  kOnnx,      // node tests: the same with 1e-7 and 1e-3, whatever the type
  kCudnn,     // frontend tests: 2e-2 and 2e-2
  kMlx,       // 1e-5, 3e-4 or 5e-3 for both, by type
  kPcc,       // correlation (Pearson) of at least so much
};

/// A house, with the correlation it wants where it is kPcc.
struct HouseRule {
  House house = House::kOurs;
  double correlation = 0.99;
};

/// "ours", "pytorch" ..., "pcc" or "pcc=0.999". None for another word.
std::optional<HouseRule> parse_house(std::string_view word);
/// As parse_house reads it.
std::string house_name(const HouseRule& rule);
/// All of them, ours first.
std::vector<HouseRule> all_houses();

/// What a house says of one tensor.
struct HouseDecision {
  HouseRule house;
  std::string rule;     // "2 * 3.1e-04 + 1e-05"
  std::string measure;  // what found and limit are: "max error", "error", "nmse", "pearson"
  double found = 0;
  double limit = 0;
  bool pass = false;
  std::optional<Index> at;  // element that decided, in row-major order
};

/// The houses before one problem: what each needs to know of it is computed once.
class HouseJury {
 public:
  using Part = Tensor<double> AttentionAnswer::*;

  /// `ours` are this program's own limits of that part of the answer. `truth` must outlive this.
  HouseJury(const AttentionProblem& problem, const AttentionAnswer& truth, Part part,
            const Limits& ours, int threads);

  HouseDecision decide(const HouseRule& rule, const Tensor<double>& given) const;

 private:
  HouseDecision near_each(HouseDecision decision, const Tensor<double>& given, double atol,
                          double rtol) const;

  const Tensor<double>& truth_;
  DType dtype_;
  Limits ours_;
  double pytorch_error_ = 0;  // largest of PyTorch's math path in the type
  double flash_error_ = 0;    // of FlashAttention's plain reference in the type
};

/// This program's own limits of out, where nobody has computed them yet.
Limits own_limits(const AttentionProblem& problem, const AttentionAnswer& truth, int threads);

}  // namespace attn
