#include "sizing/safetensors_index.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

TEST(SafetensorsIndex, SaysTheBytesOfItsTensors) {
  EXPECT_EQ(safetensors_index_bytes(
                R"({"metadata": {"total_size": 16060522496}, "weight_map": {"a": "b"}})", "i"),
            16'060'522'496);
  EXPECT_EQ(safetensors_index_bytes(
                R"({"metadata": {"total_size": 1234.0}, "weight_map": {"a": "b"}})", "i"),
            1234);
  EXPECT_THROW((void)safetensors_index_bytes(
                   R"({"metadata": {"total_size": 1.5}, "weight_map": {"a": "b"}})", "i"),
               DataError);
  EXPECT_FALSE(safetensors_index_bytes(R"({"model_type": "llama"})", "i"));
}

}  // namespace
}  // namespace attn
