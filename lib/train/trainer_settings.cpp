#include "train/trainer_settings.h"

#include <fmt/core.h>

#include <cmath>

#include "core/error.h"

namespace attn {
namespace {

void real(const char* option, double value, bool holds, const char* wanted) {
  if (!std::isfinite(value) || !holds) {
    throw UsageError(fmt::format("{} must be {}: got {}", option, wanted, value));
  }
}

void count(const char* option, Index value, Index least) {
  if (value < least) {
    throw UsageError(fmt::format("{} must be at least {}: got {}", option, least, value));
  }
}

}  // namespace

void TrainerSettings::validate() const {
  const auto share = [](double value) { return value >= 0 && value < 1; };
  const char* const kShare = "at least 0 and below 1";
  const char* const kNotNegative = "a number of at least 0";
  real("--lr", adamw.lr, adamw.lr >= 0, kNotNegative);
  real("--beta1", adamw.beta1, share(adamw.beta1), kShare);
  real("--beta2", adamw.beta2, share(adamw.beta2), kShare);
  real("--eps", adamw.eps, adamw.eps >= 0, kNotNegative);
  real("--weight-decay", adamw.weight_decay, adamw.weight_decay >= 0, kNotNegative);
  real("--min-lr", min_lr, min_lr >= 0, kNotNegative);
  if (min_lr > adamw.lr) {
    throw UsageError(
        fmt::format("--min-lr must be at most --lr: {} is more than {}", min_lr, adamw.lr));
  }
  real("--clip", clip, clip >= 0, kNotNegative);
  real("--dropout", dropout, share(dropout), kShare);
  real("--label-smoothing", label_smoothing, share(label_smoothing), kShare);
  count("--warmup", warmup, 0);
  count("--steps", steps, 0);
  count("--batch", batch, 1);
  count("--accumulate", accumulate, 1);
  if (!checked_mul(batch, accumulate)) {
    throw UsageError(
        fmt::format("--batch times --accumulate leaves 63 bits: {} times {}", batch, accumulate));
  }
}

}  // namespace attn
