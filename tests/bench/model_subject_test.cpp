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

TEST(ModelSubject, CountsAloneAreThoseOfTheModel) {
  ModelConfig config = small_model()->config();
  config.window = 4;
  std::vector<CacheRow> rows[2];
  for (const bool least : {false, true}) {
    std::vector<std::unique_ptr<DecodeSubject>> subjects;
    auto model = std::make_unique<Transformer<float>>(config);
    model->params().initialise(1);
    subjects.push_back(least ? std::make_unique<ModelSubject>(config, 12, 2)
                             : std::make_unique<ModelSubject>(std::move(model), 12, 1, 0, 2));
    CacheExperiment experiment(std::move(subjects), {{0, 12}, {5, 4}},
                               {CacheKind::kContiguous, CacheKind::kPaged, CacheKind::kNone});
    experiment.verify(!least);
    EXPECT_TRUE(experiment.agreement().counts);
    EXPECT_TRUE(experiment.agreement().outputs);
    rows[least ? 1 : 0] = experiment.rows();
  }
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    EXPECT_EQ(rows[1][i].key_rows, rows[0][i].key_rows);
    EXPECT_EQ(rows[1][i].cache_bytes, rows[0][i].cache_bytes);
    EXPECT_EQ(rows[1][i].allocated_bytes, rows[0][i].allocated_bytes);
    EXPECT_EQ(rows[1][i].kv_bytes_read, rows[0][i].kv_bytes_read);
    EXPECT_EQ(rows[1][i].weight_bytes_read, rows[0][i].weight_bytes_read);
    EXPECT_EQ(rows[1][i].flops, rows[0][i].flops);
  }
}

// What lies between two numbers that a type has may fall to either, in every layer anew.
TEST(ModelSubject, StoredInAnyTypeAllWaysAgree) {
  ModelConfig config = small_model()->config();
  config.head_dim = 32;
  for (const KvType k_type : kv_types()) {
    for (const KvType v_type : kv_types()) {
      auto model = std::make_unique<Transformer<float>>(config);
      model->params().initialise(1);
      std::vector<std::unique_ptr<DecodeSubject>> subjects;
      subjects.push_back(std::make_unique<ModelSubject>(std::move(model), 24, 1, 0, 5));
      CacheExperiment experiment(
          std::move(subjects), {{0, 24}},
          {{CacheKind::kContiguous, k_type, v_type}, {CacheKind::kPaged, k_type, v_type}});
      experiment.verify();
      EXPECT_TRUE(experiment.agreement().outputs)
          << kv_type_name(k_type) << "/" << kv_type_name(v_type);
    }
  }
}

TEST(ModelSubject, FlopsAreTwoForEachParameterOfAMatrixAndFourForEachKeySeen) {
  const ModelSubject subject(small_model(), 12, 1, 0);
  // 3 blocks: q and out 16 x 16, k and v 16 x 8, the MLP 2 x 16 x 64; the head 16 x 11, last row.
  // Of the third block only k and v are of all rows.
  const double keys = 2 * 128;
  const double rest = 2 * 256 + 2 * 1024;
  EXPECT_EQ(subject.flops(0, 5), 2 * (5 * (2 * (keys + rest) + keys) + rest + 176) +
                                     4 * 16 * (2 * (1 + 2 + 3 + 4 + 5) + 5));
  EXPECT_EQ(subject.flops(4, 1), 2 * (3 * (keys + rest) + 176) + 3 * 4 * 16 * 5);
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
