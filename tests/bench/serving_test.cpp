#include "bench/serving.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "bench/serving_experiment.h"
#include "core/error.h"
#include "sizing/paging.h"

namespace attn {
namespace {

constexpr LayerShape kShape = {8, 2, 1, 4};

ServingSettings way_of(ServingWay way, Index page_size, Index memory_rows,
                       Admission admission = Admission::kWorstCase) {
  ServingSettings settings;
  settings.way = way;
  settings.page_size = page_size;
  settings.memory_rows = memory_rows;
  settings.admission = admission;
  return settings;
}

ServingRun run_of(const ServingLoad& load, const ServingSettings& settings) {
  ServedLayer layer(kShape, 1, 0);
  return serve(layer, load, serving_ids(load, layer.kinds(), 0), settings, {});
}

std::unique_ptr<Transformer<float>> small_model() {
  ModelConfig config;
  config.vocab_size = 11;
  config.dim = 16;
  config.heads = 4;
  config.kv_heads = 2;
  config.depth = 2;
  config.position = Position::kLearned;
  config.max_positions = 40;
  auto model = std::make_unique<Transformer<float>>(config);
  model->params().initialise(1);
  return model;
}

const std::vector<ServingSettings> kAllWays = {
    way_of(ServingWay::kContiguous, 4, 80), way_of(ServingWay::kPaged, 4, 80),
    way_of(ServingWay::kShared, 4, 80), way_of(ServingWay::kPaged, 4, 80, Admission::kPreempt),
    way_of(ServingWay::kShared, 1, 80, Admission::kPreempt)};

ServingLoad unequal_load(Index shared_prefix) {
  ServingLoadSettings settings;
  settings.shared_prefix = shared_prefix;
  settings.arrival_gap = 2;
  return serving_load({40, 12, 31, 17, 9, 25, 38, 11}, settings);
}

// 5 rows: a prompt of 3 and 3 new ones; 3 rows: 2 and 2. Memory for 8 rows.
TEST(Serving, StepsOfTwoSequencesByHand) {
  const ServingLoad load = serving_load({5, 3}, {});
  // 5 rows each: one at a time. Prompt, two more; prompt, one more.
  const ServingRun apart = run_of(load, way_of(ServingWay::kContiguous, 1, 8));
  EXPECT_EQ(apart.steps, 5);
  EXPECT_EQ(apart.most_running, 1);
  EXPECT_EQ(apart.steps_to_finish, (std::vector<Index>{3, 5}));
  EXPECT_EQ(apart.peak_rows, 5);
  EXPECT_EQ(apart.reserved_rows, 10);
  // Held 3, 4, 5, 2 and 3 of 5 rows.
  EXPECT_DOUBLE_EQ(apart.mean_waste, 1 - 17.0 / 25);
  EXPECT_DOUBLE_EQ(apart.largest_waste, 1 - 2.0 / 5);
  // Pages of 1: both prompts, one more for both, one more for the longer.
  const ServingRun together = run_of(load, way_of(ServingWay::kPaged, 1, 8));
  EXPECT_EQ(together.steps, 4);
  EXPECT_EQ(together.prefills, 2);
  EXPECT_EQ(together.decodes, 2);
  EXPECT_EQ(together.decoded, 3);
  EXPECT_EQ(together.most_running, 2);
  EXPECT_EQ(together.steps_to_finish, (std::vector<Index>{4, 3}));
  EXPECT_EQ(together.peak_rows, 7);
  EXPECT_EQ(together.key_rows, 8);
  EXPECT_EQ(together.mean_waste, 0);
}

TEST(Serving, WhoComesLateWaitsNoLongerThanNeeded) {
  ServingLoad load = serving_load({5, 3}, {});
  load.requests[1].arrival = 10;
  const ServingRun run = run_of(load, way_of(ServingWay::kPaged, 1, 8));
  EXPECT_EQ(run.steps, 12) << "nothing to do from step 3 to step 10";
  EXPECT_EQ(run.steps_to_finish, (std::vector<Index>{3, 2}));
}

// Both prompts fit 8 rows; the rows after them do not.
TEST(Serving, TheYoungestGivesWayWhenThePoolIsFull) {
  const ServingLoad load = serving_load({6, 6}, {});
  const ServingRun known = run_of(load, way_of(ServingWay::kPaged, 1, 8));
  EXPECT_EQ(known.most_running, 1);
  EXPECT_EQ(known.preemptions, 0);
  const ServingRun run = run_of(load, way_of(ServingWay::kPaged, 1, 8, Admission::kPreempt));
  EXPECT_EQ(run.most_running, 2);
  // 3 and 3, 4 and 4: full. The second goes, and comes back when the first is done.
  EXPECT_EQ(run.preemptions, 1);
  EXPECT_EQ(run.recomputed, 4);
  EXPECT_EQ(run.key_rows, 12 + 4);
  EXPECT_EQ(run.peak_rows, 8);
}

TEST(Serving, EveryWayGivesWhatTheSequencesGiveAlone) {
  for (const Index prefix : {0, 8}) {
    ServingExperiment experiment(std::make_unique<ServedLayer>(kShape, 2, 0), unequal_load(prefix),
                                 kAllWays, 3);
    experiment.verify();
    EXPECT_TRUE(experiment.agreement().counts);
    EXPECT_TRUE(experiment.agreement().outputs) << experiment.agreement().max_difference;
    EXPECT_GT(experiment.agreement().bound, 0);
    EXPECT_EQ(experiment.compared_one_in(), 1);
    EXPECT_EQ(experiment.rows()[1].run.key_rows, 183);
    EXPECT_EQ(experiment.rows()[3].run.key_rows, 183 - 7 * prefix) << "8 - 1 need no prefix";
    EXPECT_GT(experiment.rows()[4].run.preemptions, 0);
  }
}

// 9 rows are a prompt of 5 and 5 new ones. With a window of 2 a prompt takes 5 pages, and what
// decodes has 2: once the first does, the second fits 8 rows.
TEST(Serving, AWindowGivesPagesBackToWhoWaits) {
  const ServingLoad load = serving_load({9, 9}, {});
  ServingSettings settings = way_of(ServingWay::kPaged, 1, 8);
  EXPECT_EQ(least_memory_rows(load, settings), 9);
  settings.window = 2;
  EXPECT_EQ(least_memory_rows(load, settings), 5);
  ServedLayer layer({8, 2, 1, 4, 2}, 1, 0);
  const ServingRun run = serve(layer, load, serving_ids(load, layer.kinds(), 0), settings, {});
  EXPECT_EQ(run.most_running, 2);
  EXPECT_EQ(run.steps, 7);
  EXPECT_EQ(run.steps_to_finish, (std::vector<Index>{6, 7}));
  EXPECT_EQ(run.peak_rows, 7);
  EXPECT_EQ(run.key_rows, 18);
  EXPECT_EQ(run.reserved_rows, 4);
  EXPECT_EQ(run.ended_rows, 4);
  EXPECT_TRUE(run.pages_agree);
  // Who gives way begins again with all its rows.
  settings.admission = Admission::kPreempt;
  EXPECT_EQ(least_memory_rows(load, settings), 9);
}

TEST(Serving, AWindowBeyondAllRowsGivesNothingBack) {
  const ServingLoad load = unequal_load(8);
  ServingSettings settings = way_of(ServingWay::kShared, 4, 80);
  const Index whole = least_memory_rows(load, settings);
  for (const Index window : {load.longest, std::numeric_limits<Index>::max()}) {
    settings.window = window;
    EXPECT_EQ(least_memory_rows(load, settings), whole) << window;
  }
}

TEST(Serving, EveryWayAgreesUnderAWindowToo) {
  for (const Index prefix : {0, 8}) {
    for (const Index window : {1, 5, 13}) {
      SCOPED_TRACE(window);
      std::vector<ServingSettings> ways = kAllWays;
      for (ServingSettings& way : ways) way.window = window;
      ServingExperiment experiment(
          std::make_unique<ServedLayer>(LayerShape{8, 2, 1, 4, window}, 2, 0), unequal_load(prefix),
          ways, 3);
      experiment.verify();
      EXPECT_TRUE(experiment.agreement().counts);
      EXPECT_TRUE(experiment.agreement().outputs) << experiment.agreement().max_difference;
      EXPECT_LT(experiment.rows()[2].run.reserved_rows, 183);
    }
  }
}

TEST(Serving, AModelOfLearnedPositionsToo) {
  ServingExperiment experiment(std::make_unique<ServedModel>(small_model(), 40, 1), unequal_load(6),
                               kAllWays, 0);
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs) << experiment.agreement().max_difference;
  EXPECT_THROW(ServedModel(small_model(), 41, 1), UsageError);
}

TEST(Serving, QuantisedCachesAreHeldToTheSameAlone) {
  std::vector<ServingSettings> ways = kAllWays;
  for (ServingSettings& way : ways) {
    way.types = {KvType::kQ8_0, KvType::kQ4_0};
  }
  ServingExperiment experiment(std::make_unique<ServedLayer>(LayerShape{64, 2, 1, 32}, 1, 0),
                               unequal_load(8), ways, 3);
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs);
  ASSERT_EQ(experiment.agreement().stored.size(), 1U);
  const StorageAgreement& stored = experiment.agreement().stored[0];
  EXPECT_TRUE(stored.compared);
  // Four bits are off by up to a sixteenth of a block's largest; exact storage by nothing.
  EXPECT_GT(stored.storage_error, 1e-3);
  EXPECT_LT(stored.storage_error, 1.0 / 8);
}

// What sequences hold as they end is what kvcache-size says of these lengths.
TEST(Serving, TheRoomThatSequencesTakeIsTheSizeToolsAnswer) {
  const std::vector<Index> lengths = {40, 12, 31, 17, 9, 25, 38, 11};
  for (const Index page : {1, 4, 16}) {
    for (const Index prefix : {0, 4, 7}) {
      ServingLoadSettings settings;
      settings.shared_prefix = prefix;
      const ServingLoad load = serving_load(lengths, settings);
      const auto wanted = reservations(lengths, 40, {page}, prefix);
      const ServingRun whole = run_of(load, way_of(ServingWay::kContiguous, page, 80));
      EXPECT_EQ(whole.reserved_rows, wanted[0].reserved);
      ServingExperiment experiment(std::make_unique<ServedLayer>(kShape, 1, 0), load,
                                   {way_of(ServingWay::kShared, page, 80)}, 0);
      experiment.verify();
      const ServingRow& shared = experiment.rows()[1];
      EXPECT_EQ(shared.run.reserved_rows, wanted[2].reserved) << page << " " << prefix;
      EXPECT_DOUBLE_EQ(shared.waste_at_end(), wanted[2].waste());
      EXPECT_EQ(shared.run.key_rows, wanted[2].used);
    }
  }
}

// Nothing that is counted depends on a layer's width.
TEST(Serving, CountsNeedNoArithmetic) {
  const ServingLoad load = unequal_load(8);
  ServedLayer least({1, 1, 1, 1}, 1, 0);
  const auto ids = serving_ids(load, least.kinds(), 0);
  for (const ServingSettings& settings : kAllWays) {
    const ServingRun run = serve(least, load, ids, settings, {});
    const ServingRun whole = run_of(load, settings);
    EXPECT_EQ(run.key_rows, whole.key_rows);
    EXPECT_EQ(run.peak_rows, whole.peak_rows);
    EXPECT_EQ(run.reserved_rows, whole.reserved_rows);
    EXPECT_EQ(run.steps_to_finish, whole.steps_to_finish);
    EXPECT_DOUBLE_EQ(run.mean_waste, whole.mean_waste);
    EXPECT_TRUE(run.pages_agree);
  }
}

TEST(Serving, MemoryForLessThanOneSequenceIsRefused) {
  const ServingLoad load = serving_load({10, 3}, {});
  EXPECT_NO_THROW(run_of(load, way_of(ServingWay::kPaged, 4, 12)));
  EXPECT_THROW(run_of(load, way_of(ServingWay::kPaged, 4, 11)), UsageError);
  EXPECT_THROW(run_of(load, way_of(ServingWay::kContiguous, 4, 9)), UsageError);
}

// Adds something to the outputs of a batch.
class Faulty : public ServedLayer {
 public:
  explicit Faulty(float fault) : ServedLayer(kShape, 1, 0), fault_(fault) {}

 private:
  void forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
               const Sequences& rows, Matrix<float> outputs) override {
    ServedLayer::forward(pass, cache, ids, rows, outputs);
    if (rows.batch > 1) outputs(rows.batch - 1, 3) += fault_;
  }
  float fault_;
};

TEST(Serving, OutputsThatDifferAreSeen) {
  for (const float fault : {1e-3F, std::numeric_limits<float>::quiet_NaN()}) {
    ServingExperiment experiment(std::make_unique<Faulty>(fault), unequal_load(0), kAllWays, 0);
    experiment.verify();
    EXPECT_TRUE(experiment.agreement().counts);
    EXPECT_FALSE(experiment.agreement().outputs);
    EXPECT_EQ(std::isnan(experiment.agreement().max_difference), std::isnan(fault));
  }
}

}  // namespace
}  // namespace attn
