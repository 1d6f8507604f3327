#include "check/cases/stored_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/cases/case_file.h"
#include "check/check_attention.h"
#include "check/problems.h"
#include "check/reference/fast_attention.h"
#include "core/error.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

// A case of every record there is, as somebody would write it in a layout.
TensorFile file_of(const AttentionCase& recorded, TensorLayout layout) {
  Hdf5Writer writer;
  const AttentionProblem& problem = recorded.problem;
  const auto features = [&](const char* name, const Tensor<double>& tensor) {
    writer.dataset(name, from_bhsd(tensor, layout));
  };
  features("/q", problem.q);
  features("/k", problem.k);
  features("/v", problem.v);
  features("/out", *recorded.out);
  features("/out_perm", *recorded.out_perm);
  writer.dataset("/weights", *recorded.weights);
  writer.dataset("/scores", *recorded.scores);
  writer.dataset("/lse", *recorded.lse);
  writer.dataset("/mask", *problem.mask);
  writer.dataset("/perm", {problem.q_len()}, recorded.perm.data());
  features("/causal_probe/k", problem.k);
  features("/causal_probe/v", problem.v);
  features("/causal_probe/out", *recorded.out);
  writer.dataset("/causal_probe/first_changed_key", Tensor<Index>({}, {3}));
  writer.attribute("/", "layout", layout_name(layout));
  writer.attribute("/", "mask_type", "bool");
  writer.attribute("/", "heads", problem.heads());
  writer.attribute("/", "kv_heads", problem.kv_heads());
  const Hdf5Image image = writer.finish();
  return TensorFile::from_bytes({image.bytes().begin(), image.bytes().end()}, "case");
}

AttentionCase all_recorded() {
  AttentionProblem problem = random_problem({.batch = 2,
                                             .heads = 4,
                                             .kv_heads = 2,
                                             .q_len = 6,
                                             .kv_len = 7,
                                             .head_dim = 4,
                                             .value_dim = 3},
                                            51);
  problem.mask = Tensor<double>({1, 4, 6, 7});
  for (std::size_t n = 0; n < problem.mask->values.size(); ++n) {
    problem.mask->values[n] = n % 5 == 0 ? 0 : 1;
  }
  AttentionCase recorded = recorded_answer(problem, fast_attention(problem, true, 1));
  recorded.out_perm = recorded.out;
  recorded.perm = {5, 4, 3, 2, 1, 0};
  return recorded;
}

TEST(StoredCase, PartsAreThoseOfTheCaseInMemoryInEveryLayout) {
  const AttentionCase recorded = all_recorded();
  for (const TensorLayout layout :
       {TensorLayout::kBhsd, TensorLayout::kBshd, TensorLayout::kNbd, TensorLayout::kBnd}) {
    TensorFile file = file_of(recorded, layout);
    const CaseAttributes attributes = read_case_attributes(file);
    const AttentionCase whole = read_case(file, attributes, {});
    const auto stored = StoredCase::open(file, attributes, {}, {}, 1);
    ASSERT_NE(stored, nullptr) << layout_name(layout);
    EXPECT_TRUE(stored->outline().problem.q.values.empty());
    EXPECT_EQ(stored->outline().problem.q.shape, recorded.problem.q.shape);
    const CasePart place = {1, 1, 1, 1, 2, 3, 1, 5};
    const AttentionCase want = CaseInMemory(whole).part(place);
    const AttentionCase got = stored->part(place);
    EXPECT_EQ(got.problem.q.values, want.problem.q.values) << layout_name(layout);
    EXPECT_EQ(got.problem.k.values, want.problem.k.values) << layout_name(layout);
    EXPECT_EQ(got.problem.v.values, want.problem.v.values) << layout_name(layout);
    EXPECT_EQ(got.problem.mask->values, want.problem.mask->values);
    EXPECT_EQ(got.problem.mask->shape, want.problem.mask->shape);
    EXPECT_EQ(got.out->values, want.out->values) << layout_name(layout);
    EXPECT_EQ(got.out_perm->values, want.out_perm->values) << layout_name(layout);
    EXPECT_EQ(got.weights->values, want.weights->values);
    EXPECT_EQ(got.scores->values, want.scores->values);
    EXPECT_EQ(got.lse->values, want.lse->values);
    EXPECT_EQ(got.probe->out.values, want.probe->out.values);
    EXPECT_EQ(got.probe->first_changed_key, 2);
    EXPECT_EQ(got.problem.cut->first_row, 2);
    EXPECT_TRUE(got.perm.empty());
    const Verdict of_file = check_attention(*stored, {}).verdict;
    const Verdict in_memory = check_attention(whole, {}).verdict;
    ASSERT_EQ(of_file.checks.size(), in_memory.checks.size());
    for (std::size_t n = 0; n < of_file.checks.size(); ++n) {
      EXPECT_EQ(of_file.checks[n].outcome, in_memory.checks[n].outcome) << of_file.checks[n].name;
      EXPECT_EQ(of_file.checks[n].max_error, in_memory.checks[n].max_error);
    }
  }
}

TEST(StoredCase, ABoolMaskOfOtherNumbersIsRefusedWhenItIsRead) {
  AttentionCase recorded = all_recorded();
  recorded.problem.mask->values[30] = -7;
  TensorFile file = file_of(recorded, TensorLayout::kBhsd);
  const auto stored = StoredCase::open(file, read_case_attributes(file), {}, {}, 1);
  ASSERT_NE(stored, nullptr);
  EXPECT_THROW(check_attention(*stored, {}), DataError);
}

TEST(StoredCase, SmallCasesAreReadWhole) {
  TensorFile file = file_of(all_recorded(), TensorLayout::kBhsd);
  EXPECT_EQ(StoredCase::open(file, read_case_attributes(file), {}), nullptr);
  EXPECT_TRUE(file.has_dataset("/q"));  // and the file is still there for that
}

}  // namespace
}  // namespace attn
