#pragma once

#include "model/model_config.h"

namespace attn {

/// How the learning rate goes down after the warm-up.
enum class ScheduleKind { kConstant, kLinear, kCosine, kInverseSqrt };

/// The learning rate of every update.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double lr = 1e-3;   // the highest, at the end of the warm-up
  double min_lr = 0;  // the lowest after the warm-up; of a constant rate without meaning
  Index warmup = 0;   // updates on the way up
  Index steps = 0;    // updates in all: where linear and cosine reach min_lr, and stay

  /// The rate of update number `step`, counted from 0. With W = warmup and T = steps it is
  /// lr (step + 1) / W while step < W, so that update W has lr itself; then, with
  /// s = min((step - W) / max(T - W, 1), 1),
  ///   constant      lr
  ///   linear        min_lr + (lr - min_lr) (1 - s)
  ///   cosine        min_lr + (lr - min_lr) (1 + cos(pi s)) / 2    (Loshchilov & Hutter 2017,
  ///                                                                arXiv:1608.03983, eq. 5)
  ///   inverse_sqrt  max(min_lr, lr sqrt(max(W, 1) / (step + 1)))  (Vaswani et al. 2017,
  ///                                                                arXiv:1706.03762, eq. 3)
  double rate(Index step) const;
};

/// constant, linear, cosine (also warmup_cosine), inverse_sqrt.
template <>
std::vector<std::string> enum_names<ScheduleKind>();
template <>
std::string enum_name(ScheduleKind value);
template <>
std::optional<ScheduleKind> parse_enum(std::string_view name);

}  // namespace attn
