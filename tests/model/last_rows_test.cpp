#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "model/configured_problem.h"
#include "model/stack.h"

// Where only the last rows' logits are wanted, the last block leaves out the others: the same
// logits, and the same keys and values behind them.

namespace attn {
namespace {

using testing::configurations;
using testing::kBatch;
using testing::kLength;
using testing::Problem;

// Some units of float's last place: a product of one row is summed in another order than one of
// nine.
void expect_near(In<float> expected, In<float> got) {
  float most = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(expected.data()[i]));
  }
  ASSERT_EQ(got.rows(), expected.rows());
  for (Index row = 0; row < got.rows(); ++row) {
    for (Index i = 0; i < got.cols(); ++i) {
      ASSERT_NEAR(got(row, i), expected(row, i), 1e-5F * most) << "row " << row << ", logit " << i;
    }
  }
}

TEST(LastRows, TheirLogitsAreThoseOfAllRows) {
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    Workspace work;
    const Pass<float> pass = p.model.pass(work);
    const Matrix<float> all = p.model.forward(pass, p.input(p.ids), nullptr, nullptr);
    const Matrix<float> last =
        p.model.forward(pass, p.input(p.ids), nullptr, nullptr, LogitRows::kLast);
    expect_near(last_rows(all, {kBatch, kLength, nullptr}), last);
  }
}

TEST(LastRows, ACacheHoldsTheKeysOfAllRows) {
  for (const auto& configuration : configurations()) {
    if (configuration.model.arch == Arch::kEncoder) continue;
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    Workspace work;
    const Pass<float> pass = p.model.pass(work);
    KvCache<float> of_all = p.cache(kLength + 1);
    KvCache<float> of_last = p.cache(kLength + 1);
    const Matrix<float> all = p.model.forward(pass, p.input(p.ids), &of_all, nullptr);
    const Matrix<float> last =
        p.model.forward(pass, p.input(p.ids), &of_last, nullptr, LogitRows::kLast);
    expect_near(last_rows(all, {kBatch, kLength, nullptr}), last);
    const Index places = configuration.model.max_positions;
    if (places > 0 && places <= kLength) continue;
    const std::vector<Index> next = {1, 2};
    const Matrix<float> expected = p.model.forward(pass, p.input(next), &of_all, nullptr);
    expect_near(expected, p.model.forward(pass, p.input(next), &of_last, nullptr));
  }
}

// Backward would need what the last block left out.
TEST(LastRows, NoTapeIsBesideThem) {
  ModelConfig config;
  config.dim = 8;
  config.heads = 2;
  config.mlp_hidden = 16;
  config = config.completed();
  ParamStore<float> store;
  const Stack<float> stack(store, config, {"", 5, 1}, nullptr);
  store.allocate();
  Workspace work;
  const Pass<float> pass{store.values(), work};
  const std::vector<Index> ids = {1, 2, 3};
  StackTape<float> tape;
  EXPECT_NO_THROW(stack.forward(pass, ids, {1, 3, nullptr}, nullptr, nullptr, &tape));
  EXPECT_THROW(
      stack.forward(pass, ids, {1, 3, nullptr}, nullptr, nullptr, &tape, RowsWanted::kLast),
      ShapeError);
}

}  // namespace
}  // namespace attn
