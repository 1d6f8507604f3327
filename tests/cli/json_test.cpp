#include "cli/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace attn::cli {
namespace {

TEST(Json, NumbersKeepTheirDigitsAndNonFiniteIsNull) {
  Json document;
  document["float"] = json_number(0.1F);
  document["double"] = json_number(0.1);
  document["nan"] = json_number(std::numeric_limits<double>::quiet_NaN());
  document["inf"] = json_number(std::numeric_limits<float>::infinity());
  EXPECT_EQ(json_line(document), "{\"float\":0.1,\"double\":0.1,\"nan\":null,\"inf\":null}\n");
}

TEST(Json, KeysStayInOrderAndForeignBytesAreReplaced) {
  Json document;
  document["z"] = "\xff";
  document["a"] = 1;
  EXPECT_EQ(json_text(document), "{\n  \"z\": \"\xef\xbf\xbd\",\n  \"a\": 1\n}\n");
}

}  // namespace
}  // namespace attn::cli
