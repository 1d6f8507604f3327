#include "bench/model_subject.h"

#include <gtest/gtest.h>

#include "bench/cache_experiment.h"
#include "core/error.h"

namespace attn {
namespace {

std::unique_ptr<Transformer<float>> small_model(Position position = Position::kRope,
                                                bool tied = false) {
  ModelConfig config;
  config.vocab_size = 11;
  config.dim = 16;
  config.heads = 4;
  config.kv_heads = 2;
  config.depth = 3;
  config.position = position;
  config.max_positions = position == Position::kLearned ? 8 : 0;
  config.tie_embeddings = tied;
  auto model = std::make_unique<Transformer<float>>(config);
  model->params().initialise(1);
  return model;
}

TEST(ModelSubject, CountsAndAgreesAsTheLayerDoes) {
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  subjects.push_back(std::make_unique<ModelSubject>(small_model(), 12, 2, 0));
  CacheExperiment experiment(std::move(subjects), {{0, 12}, {5, 4}},
                             {CacheKind::kContiguous, CacheKind::kNone});
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs);
  EXPECT_GT(experiment.agreement().max_difference, 0) << "two ways of summing, the very same bits?";
  const CacheRow& decode = experiment.rows()[1];
  EXPECT_EQ(decode.phase, "decode");
  EXPECT_EQ(decode.key_rows, 12);
  // 3 layers, 2 heads of 4, keys and values, 4 bytes: 192 a token.
  EXPECT_EQ(decode.cache_bytes, 192 * 12);
}

TEST(ModelSubject, TablesAreLookedUpNotRead) {
  const ModelSubject untied(small_model(Position::kLearned), 8, 1, 0);
  const ParameterCounts counts = count_parameters(untied.config());
  EXPECT_EQ(untied.weight_bytes(), 4 * (counts.total - 11 * 16 - 8 * 16));
  const ModelSubject tied(small_model(Position::kRope, true), 8, 1, 0);
  EXPECT_EQ(tied.weight_bytes(), 4 * count_parameters(tied.config()).total)
      << "the head of a tied model reads the whole table";
}

TEST(ModelSubject, RefusesMoreTokensThanPositions) {
  EXPECT_NO_THROW(ModelSubject(small_model(Position::kLearned), 8, 1, 0));
  EXPECT_THROW(ModelSubject(small_model(Position::kLearned), 9, 1, 0), UsageError);
}

}  // namespace
}  // namespace attn
