#include "train/recipes.h"

#include "model/presets.h"

namespace attn {
namespace {

// PyTorch's AdamW at the tutorial's rate, for as long as progressions take.
TrainingSettings tutorial() {
  TrainingSettings s;
  s.trainer.adamw.lr = 3e-3;
  s.trainer.batch = 128;
  s.trainer.steps = 1500;
  s.eval_every = 0;
  return s;
}

// Vaswani et al. 2017 (arXiv:1706.03762), section 5: Adam without decay, 4,000 updates of warm-up
// to dim^-0.5 warmup^-0.5, about 25,000 tokens of each language in an update.
TrainingSettings original() {
  TrainingSettings s = tutorial();
  s.trainer.adamw = {.lr = 6.99e-4, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0};
  s.trainer.schedule = ScheduleKind::kInverseSqrt;
  s.trainer.warmup = 4000;
  s.trainer.steps = 100'000;
  s.trainer.batch = 192;
  s.trainer.dropout = 0.1;
  s.trainer.label_smoothing = 0.1;
  return s;
}

// What nanoGPT's recipes have in common.
TrainingSettings nanogpt(double lr, double beta2, Index warmup, Index steps) {
  TrainingSettings s;
  s.trainer.adamw = {.lr = lr, .beta1 = 0.9, .beta2 = beta2, .eps = 1e-8, .weight_decay = 0.1};
  s.trainer.schedule = ScheduleKind::kCosine;
  s.trainer.min_lr = lr / 10;
  s.trainer.warmup = warmup;
  s.trainer.steps = steps;
  s.trainer.decay = DecayScope::kMatrices;
  s.trainer.clip = 1;
  s.init = enum_name(InitScheme::kGpt2);
  s.eval_every = 0;
  return s;
}

}  // namespace

Recipe recipe(std::string_view preset) {
  Recipe found;
  found.preset = model_preset(preset).name;
  TrainingSettings& s = found.settings;
  if (found.preset == "original") {
    s = original();
  } else if (found.preset == "nanogpt-char") {
    s = nanogpt(1e-3, 0.99, 100, 5000);
    s.trainer.batch = 64;
    s.trainer.dropout = 0.2;
    s.eval_every = 250;
  } else if (found.preset == "nanogpt-cpu") {
    s = nanogpt(1e-3, 0.99, 100, 2000);
    s.trainer.batch = 12;
    s.eval_every = 250;
  } else if (found.preset == "gpt2") {
    s = nanogpt(6e-4, 0.95, 2000, 600'000);
    s.trainer.batch = 12;
    s.trainer.accumulate = 40;
  } else if (found.preset == "llama-tiny") {
    s = nanogpt(1e-3, 0.95, 100, 2000);
    s.trainer.batch = 16;
    found.tokenizer = "bytes";
  } else {
    s = tutorial();
  }
  return found;
}

}  // namespace attn
