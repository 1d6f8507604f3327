#include "io/tensor_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorSliceTest : public ::testing::Test {
 protected:
  TensorSliceTest() : reader_(file()) {}

  static TensorFile file() {
    Tensor<float> tensor({2, 3, 4});
    std::iota(tensor.values.begin(), tensor.values.end(), 0.0F);
    Hdf5Writer writer;
    writer.dataset("/x", tensor);
    writer.dataset("/scalar", Tensor<float>({}, {5.0F}));
    const Hdf5Image image = writer.finish();
    return TensorFile::from_bytes({image.bytes().begin(), image.bytes().end()}, "memory");
  }
  Tensor<float> slice(const std::string& text) const {
    return TensorSlice::parse(text, {2, 3, 4}).read<float>(reader_, "/x");
  }
  TensorFile reader_;
};

TEST_F(TensorSliceTest, TakesWhatNumPyTakes) {
  EXPECT_THAT(slice("1,2,3").values, ElementsAre(23));
  EXPECT_TRUE(slice("1,2,3").shape.empty());
  EXPECT_THAT(slice("1,:,0").values, ElementsAre(12, 16, 20));
  EXPECT_THAT(slice("0,1:3,::2").values, ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(slice("0,1:3,::2").shape, ElementsAre(2, 2));
  EXPECT_THAT(slice("-1,-1,-2:").values, ElementsAre(22, 23));
  EXPECT_THAT(slice(":,0,0").values, ElementsAre(0, 12));
  EXPECT_THAT(slice("0").shape, ElementsAre(3, 4));
  EXPECT_THAT(slice("::2, 1:2 ,0").values, ElementsAre(4));
  EXPECT_THAT(slice(":,1:1").shape, ElementsAre(2, 0, 4));
  EXPECT_EQ(slice(":").size(), 24);
}

TEST_F(TensorSliceTest, WholeTensorsAndScalars) {
  EXPECT_EQ(TensorSlice({2, 3, 4}).read<float>(reader_, "/x").size(), 24);
  EXPECT_THAT(TensorSlice(Shape{}).read<float>(reader_, "/scalar").values, ElementsAre(5));
}

TEST_F(TensorSliceTest, TellsWhereAValueCameFrom) {
  const TensorSlice slice = TensorSlice::parse("1,1:,::3", {2, 3, 4});
  EXPECT_THAT(slice.source({1, 1}), ElementsAre(1, 2, 3));
}

TEST_F(TensorSliceTest, RefusesWhatIsNoSlice) {
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      slice(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(complaint("2"), "--slice: '2' leaves axis 0 of length 2");
  EXPECT_EQ(complaint("-3"), "--slice: '-3' leaves axis 0 of length 2");
  EXPECT_EQ(complaint(":,1:9"), "--slice: '1:9' leaves axis 1 of length 3");
  EXPECT_EQ(complaint("a"), "--slice: 'a' is no index");
  EXPECT_EQ(complaint("1,,2"), "--slice: '' is no index");
  EXPECT_EQ(complaint("::0"), "--slice: '::0' needs a step of 1 or more");
  EXPECT_EQ(complaint("1:2:1:1"), "--slice: '1:2:1:1' has too many parts");
  EXPECT_THAT(complaint("0,0,0,0"), HasSubstr("names 4 axes, the tensor of shape (2, 3, 4) has 3"));
  EXPECT_EQ(complaint("99999999999999999999"), "--slice: '99999999999999999999' is no index");
  EXPECT_EQ(complaint("-9223372036854775808"),
            "--slice: '-9223372036854775808' leaves axis 0 of length 2");
}

}  // namespace
}  // namespace attn
