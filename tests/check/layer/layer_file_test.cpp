#include "check/layer/layer_file.h"

#include <gtest/gtest.h>

#include <string>

#include "check/problems.h"
#include "core/error.h"
#include "io/tensor_set.h"

namespace attn {
namespace {

// x of 5 rows and 8 features, two heads fused into 24 rows.
TensorSet fused_layer() {
  Rng rng(5, RandomPurpose::kExample, 9);
  TensorSet set;
  set.put("x", normal_tensor({2, 5, 8}, rng), DType::kF64);
  set.put("qkv_proj", normal_tensor({24, 8}, rng), DType::kF64);
  set.put("output", normal_tensor({2, 5, 8}, rng), DType::kF64);
  set.put(TensorSet::Attribute{"/", "heads", Index{2}});
  return set;
}

LayerCase read(const TensorSet& set) {
  const TensorFile file = TensorFile::from_bytes(set.npz(), "layer.npz");
  return read_layer(file, read_layer_rules(file), read_layer_attributes(file), {}, {});
}

std::string refusal(const TensorSet& set) {
  try {
    read(set);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(LayerFile, TakesTheNumberOfHeadsOfAnArchiveForNoStep) {
  const LayerCase layer = read(fused_layer());
  EXPECT_EQ(layer.problem.heads, 2);
  EXPECT_FALSE(layer.recorded.has(LayerStep::kHeads));
  EXPECT_TRUE(layer.recorded.has(LayerStep::kOutput));
}

TEST(LayerFile, RefusesNumbersThatCutNoMatrix) {
  for (const Index kv_heads : {Index{0}, Index{-1}, Index{3}, Index{1} << 62}) {
    TensorSet set = fused_layer();
    set.put(TensorSet::Attribute{"/", "kv_heads", kv_heads});
    EXPECT_NE(refusal(set).find("kv_heads must divide heads"), std::string::npos) << kv_heads;
  }
  TensorSet set = fused_layer();
  set.put(TensorSet::Attribute{"/", "head_dim", Index{1} << 31});
  EXPECT_NE(refusal(set).find("head_dim: want at most the 24 rows"), std::string::npos)
      << refusal(set);
}

TEST(LayerFile, RefusesABiasThatIsShorterThanItsFusedMatrix) {
  TensorSet set = fused_layer();
  set.put("qkv_proj.bias", Tensor<double>({3}), DType::kF64);
  EXPECT_NE(refusal(set).find("want a bias of 24 numbers, got 3"), std::string::npos)
      << refusal(set);
}

TEST(LayerFile, RefusesMoreTurnedFeaturesThanAHeadHas) {
  TensorSet set = fused_layer();
  set.put(TensorSet::Attribute{"/", "rope_style", "half_split"});
  set.put(TensorSet::Attribute{"/", "rotary_dim", Index{1} << 31});
  EXPECT_NE(refusal(set).find("up to head_dim 4, got 2147483648"), std::string::npos)
      << refusal(set);
}

}  // namespace
}  // namespace attn
