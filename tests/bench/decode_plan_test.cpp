#include "bench/decode_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"

namespace attn {
namespace {

// Writes down what it is asked; its "output" of a token is the token's number.
class Recorder : public DecodeSubject {
 public:
  Index width() const override { return 1; }
  Index layers() const override { return 1; }
  Index heads() const override { return 1; }
  Index kv_heads() const override { return 1; }
  Index head_dim() const override { return 1; }
  Index window() const override { return 0; }
  void restart(const CacheWay&) override { length_ = rows_ = 0; }
  void append(Index count, float* output) override {
    length_ += count;
    rows_ += count;
    *output = static_cast<float>(length_ - 1);
  }
  void recompute(Index length, float* output) override {
    rows_ += length;
    *output = static_cast<float>(length - 1);
  }
  Index key_rows() const override {
    ++asked;
    return rows_;
  }
  Index cache_bytes() const override { return 8 * length_; }
  Index allocated_bytes() const override { return 0; }
  Index token_bytes(const CacheWay&) const override { return 8; }
  Index weight_bytes() const override { return 4; }
  double flops(Index, Index count) const override { return static_cast<double>(count); }

  mutable Index asked = 0;

 private:
  Index length_ = 0;
  Index rows_ = 0;
};

TEST(DecodePlan, LastNewTokenIsNeverFedBack) {
  const DecodeWork work{16, 8};
  EXPECT_EQ(work.first(), 16);
  EXPECT_EQ(work.total(), 16 + 8 - 1);
  EXPECT_EQ((DecodeWork{0, 8}).total(), 8);
  EXPECT_EQ((DecodeWork{0, 8}).first(), 1);
}

TEST(DecodePlan, CountsAndOutputsOfEveryStep) {
  Recorder subject;
  for (const CacheKind cache : {CacheKind::kNone, CacheKind::kContiguous}) {
    const DecodePlan plan{cache, 3, 5};
    std::vector<float> outputs(3, -1.0F);
    // Twice: what an earlier run left behind must not count.
    const std::vector<Index> all = {0, 1, 2};
    run_plan(subject, plan, {outputs.data(), 3, 1}, all);
    const DecodeRun run = run_plan(subject, plan, {outputs.data(), 3, 1}, all);
    EXPECT_EQ(outputs, (std::vector<float>{2, 3, 4}));
    ASSERT_EQ(run.counts.size(), 3U);
    const bool cached = cache == CacheKind::kContiguous;
    const std::vector<Index> rows =
        cached ? std::vector<Index>{3, 4, 5} : std::vector<Index>{3, 7, 12};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(run.counts[i].key_rows, rows[i]) << cache_name(cache) << " step " << i;
      EXPECT_EQ(run.counts[i].cache_bytes, cached ? 8 * static_cast<Index>(3 + i) : 0);
    }
  }
}

TEST(DecodePlan, ARunIsAskedAfterTheseStepsAlone) {
  Recorder subject;
  std::vector<float> outputs(4);
  const std::vector<Index> ends = {0, 3};
  const DecodeRun run = run_plan(subject, {CacheKind::kNone, 2, 5}, {outputs.data(), 4, 1}, ends);
  EXPECT_EQ(subject.asked, 2);
  EXPECT_EQ(run.counts.front().key_rows, 2);
  EXPECT_EQ(run.counts.back().key_rows, 2 + 3 + 4 + 5);
  ASSERT_EQ(run.step_ns.size(), 4U);
  std::int64_t others = 0;
  for (std::size_t i = 1; i < run.step_ns.size(); ++i) others += run.step_ns[i];
  EXPECT_EQ(run.step_ns[0], run.first.wall_ns);
  EXPECT_LE(others, run.others.wall_ns);
}

TEST(DecodePlan, KeysSeenByHand) {
  EXPECT_EQ(keys_seen(1, 4, 0), 1 + 2 + 3 + 4);
  EXPECT_EQ(keys_seen(3, 4, 0), 3 + 4);
  EXPECT_EQ(keys_seen(1, 5, 3), 1 + 2 + 3 + 3 + 3);
  EXPECT_EQ(keys_seen(5, 6, 3), 3 + 3);
  EXPECT_EQ(keys_seen(2, 3, 3), 2 + 3);
  EXPECT_EQ(keys_seen(2, 3, 9), 2 + 3);
  EXPECT_EQ(keys_seen(1, 512, 0), 131'328);
}

TEST(DecodePlan, WaysHaveNames) {
  EXPECT_EQ(way_name(CacheKind::kPaged), "paged");
  EXPECT_EQ(way_name({CacheKind::kContiguous, KvType::kQ8_0, KvType::kQ8_0}), "contiguous q8_0");
  EXPECT_EQ(way_name({CacheKind::kPaged, KvType::kQ8_0, KvType::kNative}), "paged q8_0/f32");
}

TEST(DecodePlan, RefusesOutputsOfAnotherShape) {
  Recorder subject;
  std::vector<float> outputs(4);
  EXPECT_THROW(run_plan(subject, {CacheKind::kNone, 1, 3}, {outputs.data(), 2, 1}, {}), ShapeError);
  EXPECT_THROW(run_plan(subject, {CacheKind::kNone, 1, 2}, {outputs.data(), 2, 2}, {}), ShapeError);
  EXPECT_THROW(run_plan(subject, {CacheKind::kNone, 2, 1}, {outputs.data(), 2, 1}, {}), ShapeError);
  const std::vector<Index> beyond = {0, 2};
  EXPECT_THROW(run_plan(subject, {CacheKind::kNone, 1, 2}, {outputs.data(), 2, 1}, beyond),
               ShapeError);
}

}  // namespace
}  // namespace attn
