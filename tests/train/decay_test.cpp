#include "train/decay.h"

#include <gtest/gtest.h>

#include "train/progressions.h"
#include "train/trainer.h"
#include "train_helpers.h"

namespace attn {
namespace {

// Matrices: tokens 10 x 8, four projections 8 x 8, 6 x 8 and 8 x 6, head 10 x 8. The rest: two
// norms a block and the last one of 2 x 8, four biases of 8, those of the MLP 6 + 8, the head's 10.
TEST(Decay, CountsMatricesAndTheRest) {
  const auto layout = parameter_layout(tiny(8, 6));
  const DecayCounts counts = count_decayed(layout, DecayScope::kMatrices);
  EXPECT_EQ(counts.decayed, 80 + 4 * 64 + 2 * 48 + 80);
  EXPECT_EQ(counts.decayed_tensors, 8);
  EXPECT_EQ(counts.undecayed, 3 * 16 + 4 * 8 + 14 + 10);
  EXPECT_EQ(counts.undecayed_tensors, 3 * 2 + 4 + 2 + 1);
  const DecayCounts all = count_decayed(layout, DecayScope::kAll);
  EXPECT_EQ(all.decayed, counts.decayed + counts.undecayed);
  EXPECT_EQ(all.undecayed, 0);
}

TEST(Decay, RunsCoverTheLayoutOnceAndInOrder) {
  const auto layout = parameter_layout(tiny(8, 6));
  const Index size = layout.back().place.offset + layout.back().place.size();
  for (const Index most : {Index{7}, Index{64}, Index{1} << 16}) {
    for (const auto scope : {DecayScope::kAll, DecayScope::kMatrices}) {
      Index next = 0;
      for (const DecayRun& run : decay_runs(layout, scope, most)) {
        ASSERT_EQ(run.first, next);
        ASSERT_GE(run.count, 1);
        ASSERT_LE(run.count, most);
        next += run.count;
        for (const ParamInfo& info : layout) {
          const bool within = run.first < info.place.offset + info.place.size() &&
                              info.place.offset < run.first + run.count;
          if (within) {
            ASSERT_EQ(run.decayed, is_decayed(info, scope)) << info.name;
          }
        }
      }
      EXPECT_EQ(next, size);
    }
  }
  EXPECT_EQ(decay_runs(layout, DecayScope::kAll, Index{1} << 16).size(), 1U);
}

// PyTorch with two groups of parameters: p *= 1 - lr * weight_decay in the decayed group alone,
// then the same step for both. So what decay changes is known without knowing the step.
TEST(Decay, PullsMatricesAlone) {
  const auto updated = [](double weight_decay, DecayScope scope) {
    Transformer<double> model(tiny(8, 6));
    model.params().initialise(5);
    const Progressions data(5);
    TrainerSettings settings;
    settings.adamw.lr = 0.01;
    settings.adamw.weight_decay = weight_decay;
    settings.decay = scope;
    settings.batch = 4;
    Trainer<double> trainer(model, data, settings);
    EXPECT_TRUE(trainer.step().finite());
    return std::vector<double>(model.params().values(),
                               model.params().values() + model.params().size());
  };
  Transformer<double> start(tiny(8, 6));
  start.params().initialise(5);
  const auto none = updated(0, DecayScope::kAll);
  for (const auto scope : {DecayScope::kAll, DecayScope::kMatrices}) {
    const auto pulled = updated(0.5, scope);
    for (const ParamInfo& info : start.params().list()) {
      const double pull = is_decayed(info, scope) ? 0.01 * 0.5 : 0.0;
      for (Index i = info.place.offset; i < info.place.offset + info.place.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(pulled[at], none[at] - pull * start.params().values()[i], 1e-15) << info.name;
      }
    }
  }
}

}  // namespace
}  // namespace attn
