#include "train/training_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

// No field at its default.
TrainingSettings unusual() {
  TrainingSettings s;
  s.task = "copy";
  s.data_digest = "0123";
  s.task_settings = {{"modulus", Index{9}}, {"mask_fraction", 0.15}};
  s.trainer.adamw = {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-7, .weight_decay = 0.2};
  s.trainer.schedule = ScheduleKind::kInverseSqrt;
  s.trainer.min_lr = 1e-3;
  s.trainer.warmup = 7;
  s.trainer.steps = 70;
  s.trainer.decay = DecayScope::kMatrices;
  s.trainer.clip = 1.5;
  s.trainer.dropout = 0.1;
  s.trainer.label_smoothing = 0.05;
  s.trainer.batch = 12;
  s.trainer.accumulate = 3;
  s.trainer.seed = 99;
  s.trainer.log_gradients = true;
  s.init = "gpt2";
  s.eval_every = 11;
  s.patience = 4;
  return s;
}

TEST(TrainingSettings, EveryFieldComesBack) {
  const TrainingSettings settings = unusual();
  const TrainingSettings back = from_list(to_list(settings), "x.h5");
  EXPECT_EQ(to_list(back), to_list(settings));
  EXPECT_TRUE(changes(settings, back).empty());
  // Each of the table's fields differs from its default, so none was forgotten.
  const std::size_t table = to_list(TrainingSettings()).size();
  EXPECT_EQ(changes(TrainingSettings(), settings).size(), table + settings.task_settings.size());
  EXPECT_EQ(back.task_settings, settings.task_settings);
}

TEST(TrainingSettings, AWholeNumberIsARealOne) {
  const TrainingSettings back = from_list({{"clip", Index{1}}}, "x.h5");
  EXPECT_EQ(back.trainer.clip, 1.0);
}

TEST(TrainingSettings, RefusesValuesOfAnotherKind) {
  const auto refusal = [](const std::string& name, const Setting& value) {
    try {
      from_list({{name, value}}, "x.h5");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("(accepted)");
  };
  EXPECT_EQ(refusal("batch", 1.5),
            "x.h5: /training: attribute batch: wanted a whole number, got '1.5'");
  EXPECT_EQ(refusal("schedule", std::string("wsd")),
            "x.h5: /training: attribute schedule: wanted constant, linear, cosine or inverse_sqrt, "
            "got 'wsd'");
  EXPECT_THAT(refusal("decay", Index{1}), HasSubstr("wanted all or matrices, got '1'"));
  EXPECT_THAT(refusal("log_gradients", Index{2}), HasSubstr("wanted 0 or 1, got '2'"));
  EXPECT_THAT(refusal("task", Index{2}), HasSubstr("wanted text"));
  EXPECT_THAT(refusal("lr", std::string("\x1b[1m")), HasSubstr("wanted a number, got '\\x1b[1m'"));
  EXPECT_EQ(refusal("unknown", 1.5), "(accepted)");
}

// A file that somebody wrote by hand: every number has its range.
TEST(TrainingSettings, RefusesValuesOutOfRange) {
  const auto refusal = [](const std::string& name, const Setting& value) {
    try {
      from_list({{name, value}}, "x.h5");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("(accepted)");
  };
  EXPECT_EQ(refusal("batch", Index{-1}),
            "x.h5: /training: attribute batch: wanted at least 1, got '-1'");
  EXPECT_EQ(refusal("eval_windows", Index{-3}),
            "x.h5: /training: attribute eval_windows: wanted a whole number of at least 0, got "
            "'-3'");
  EXPECT_EQ(refusal("steps", Index{1} << 32),
            "x.h5: /training: attribute steps: wanted at most 4294967295, got '4294967296'");
  for (const auto& [name, least] :
       std::vector<std::pair<std::string, Index>>{{"seed", 0},
                                                  {"steps", 0},
                                                  {"batch", 1},
                                                  {"accumulate", 1},
                                                  {"warmup", 0},
                                                  {"eval_every", 1},
                                                  {"patience", 0},
                                                  {"seq_len", 1},
                                                  {"min_len", 1},
                                                  {"modulus", 1},
                                                  {"eval_windows", 0}}) {
    EXPECT_EQ(refusal(name, least), "(accepted)") << name;
    EXPECT_THAT(refusal(name, least - 1), HasSubstr("attribute " + name + ": wanted ")) << name;
  }
  for (const char* name : {"lr", "min_lr", "eps", "weight_decay", "clip", "beta1", "beta2",
                           "dropout", "label_smoothing", "mask_fraction", "val_fraction"}) {
    for (const double value : {-0.5, std::nan("")}) {
      EXPECT_THAT(refusal(name, value), HasSubstr(std::string("attribute ") + name + ": wanted "));
    }
  }
  for (const char* name : {"beta1", "beta2", "dropout", "label_smoothing", "mask_fraction",
                           "val_fraction", "min_lr"}) {
    EXPECT_NE(refusal(name, 1.0), "(accepted)") << name;
  }
  EXPECT_THAT(refusal("init", std::string("ones")), HasSubstr("attribute init: wanted checkpoint"));
}

TEST(TrainingSettings, WhatPoolingCostComesBackAndIsNoChange) {
  TrainingSettings settings = unusual();
  EXPECT_FALSE(from_list(to_list(settings), "x.h5").pooled.has_value());
  settings.pooled = PooledLosses{1.25, 30, std::nullopt};
  EXPECT_EQ(from_list(to_list(settings), "x.h5").pooled, settings.pooled);
  settings.pooled->later = 1.5;
  const TrainingSettings back = from_list(to_list(settings), "x.h5");
  EXPECT_EQ(back.pooled, settings.pooled);
  EXPECT_EQ(back.task_settings, settings.task_settings);
  EXPECT_TRUE(changes(unusual(), back).empty());
  EXPECT_EQ(uptraining_updates(0), 0);
  EXPECT_EQ(uptraining_updates(1), 1);
  EXPECT_EQ(uptraining_updates(20), 1);
  EXPECT_EQ(uptraining_updates(41), 3);
}

// The rest of a resumed run may go another way; what it is may not change.
TEST(TrainingSettings, NamesWhatChanged) {
  const TrainingSettings was = unusual();
  TrainingSettings now = was;
  now.trainer.batch = 64;
  now.trainer.schedule = ScheduleKind::kCosine;
  now.trainer.seed = 1;
  now.data_digest = "4567";
  now.task_settings = {{"modulus", Index{10}}, {"mask_fraction", 0.15}, {"min_len", Index{2}}};
  std::vector<std::string> allowed, refused;
  for (const SettingChange& change : changes(was, now)) {
    (change.allowed ? allowed : refused).push_back(change.text());
  }
  EXPECT_EQ(allowed, (std::vector<std::string>{"--batch was 12, now 64",
                                               "--schedule was inverse_sqrt, now cosine"}));
  EXPECT_EQ(refused,
            (std::vector<std::string>{"the data are others: their digest was 0123, now 4567",
                                      "--seed was 99, now 1", "--modulus was 9, now 10",
                                      "--min-len was not there, now 2"}));
}

}  // namespace
}  // namespace attn
