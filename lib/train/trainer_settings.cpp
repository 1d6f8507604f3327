#include "train/trainer_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace attn {
namespace {

// Keeps the first that is out of range.
class Ranges {
 public:
  void real(const char* name, double value, bool holds, const std::string& wanted) {
    if (!std::isfinite(value) || !holds) keep({name, wanted, fmt::format("{}", value)});
  }
  void not_negative(const char* name, double value) {
    real(name, value, value >= 0, "a number of at least 0");
  }
  void share(const char* name, double value) {
    real(name, value, value >= 0 && value < 1, "at least 0 and below 1");
  }
  void count(const char* name, Index value, Index least, Index most) {
    if (value < least) {
      keep({name, fmt::format("at least {}", least), fmt::format("{}", value)});
    } else if (value > most) {
      keep({name, fmt::format("at most {}", most), fmt::format("{}", value)});
    }
  }
  void keep(OutOfRange found) {
    if (!found_) found_ = std::move(found);
  }
  std::optional<OutOfRange> found() const { return found_; }

 private:
  std::optional<OutOfRange> found_;
};

}  // namespace

std::optional<OutOfRange> TrainerSettings::out_of_range() const {
  constexpr Index kAny = std::numeric_limits<Index>::max();
  constexpr Index kMostUpdates = std::numeric_limits<std::uint32_t>::max();
  Ranges ranges;
  ranges.not_negative("lr", adamw.lr);
  ranges.share("beta1", adamw.beta1);
  ranges.share("beta2", adamw.beta2);
  ranges.not_negative("eps", adamw.eps);
  ranges.not_negative("weight_decay", adamw.weight_decay);
  ranges.not_negative("min_lr", min_lr);
  ranges.real("min_lr", min_lr, min_lr <= adamw.lr,
              fmt::format("at most the highest rate, {}", adamw.lr));
  ranges.not_negative("clip", clip);
  ranges.share("dropout", dropout);
  ranges.share("label_smoothing", label_smoothing);
  ranges.count("warmup", warmup, 0, kAny);
  ranges.count("steps", steps, 0, kMostUpdates);
  ranges.count("batch", batch, 1, kAny);
  ranges.count("accumulate", accumulate, 1, kAny);
  if (!checked_mul(batch, accumulate)) {
    ranges.keep({"accumulate", fmt::format("such that {} times it stays in 63 bits", batch),
                 fmt::format("{}", accumulate)});
  }
  return ranges.found();
}

void TrainerSettings::validate() const {
  auto wrong = out_of_range();
  if (!wrong) return;
  std::replace(wrong->name.begin(), wrong->name.end(), '_', '-');
  throw UsageError(fmt::format("--{} must be {}: got {}", wrong->name, wrong->wanted, wrong->got));
}

}  // namespace attn
