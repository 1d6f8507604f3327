#include "io/safetensors_writer.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "io/safetensors.h"

namespace attn {
namespace {

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const std::vector<float> first = {1, -2.5, 3, 0.25, 0, 7};
  const std::vector<float> second = {1e-3F};
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    SafetensorsWriter writer({{"a.weight", {2, 3}}, {"b", {}}}, type);
    writer.write(first.data());
    EXPECT_THROW(writer.finish(), ShapeError);
    writer.write(second.data());
    const SafetensorsFile file = SafetensorsFile::from_bytes(writer.finish(), "w");
    EXPECT_EQ(file.metadata().at("format"), "pt");
    ASSERT_EQ(file.entries().size(), 2U);
    EXPECT_EQ(file.entries()[0].name, "a.weight");
    EXPECT_EQ(file.entries()[0].shape, (Shape{2, 3}));
    EXPECT_EQ(file.entries()[0].type, type);
    std::vector<float> read(6);
    file.read(file.entries()[0], read.data());
    EXPECT_EQ(read, first);  // these are exact in every type
    file.read(file.entries()[1], read.data());
    EXPECT_NEAR(read[0], second[0], type == DType::kBF16 ? 4e-6 : type == DType::kF16 ? 5e-7 : 0);
  }
}

TEST(SafetensorsWriter, RefusesWhatTheTypeCannotHold) {
  SafetensorsWriter writer({{"a", {2}}}, DType::kF16);
  const float values[] = {1, 70000};
  try {
    writer.write(values);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "'a': number 1 is 70000, which F16 cannot hold");
  }
}

}  // namespace
}  // namespace attn
