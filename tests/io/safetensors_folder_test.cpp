#include "io/safetensors_folder.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/safetensors_bytes.h"
#include "support/process.h"

namespace attn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SafetensorsFolderTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  void put_tensor(const std::string& file, const std::string& tensor) {
    put(file,
        packed("{\"" + tensor + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  }
  void put_index(const json& weight_map) {
    put("model.safetensors.index.json", json{{"weight_map", weight_map}}.dump());
  }
  std::string refusal() {
    try {
      const SafetensorsFolder read = SafetensorsFolder::open(folder_.path().string(), 1 << 20);
      return fmt::format("{} tensors", read.tensors().size());
    } catch (const DataError& error) {
      const std::string text = error.what();
      const std::string path = folder_.path().string();
      std::string shown;
      for (std::size_t at = 0; at < text.size();) {  // without the folder
        if (text.compare(at, path.size(), path) == 0) at += path.size();
        shown += text[at++];
      }
      return shown;
    }
  }
  testing::TempFolder folder_;
};

TEST_F(SafetensorsFolderTest, OneFileOrThoseOfTheIndex) {
  EXPECT_THAT(refusal(), HasSubstr("holds neither model.safetensors nor model.safetensors.index"));
  put("pytorch_model.bin", "PK");
  EXPECT_THAT(refusal(), HasSubstr("pytorch_model.bin is a pickle, which is not read"));
  put_tensor("one", "a");
  put_tensor("two", "b");
  put_index({{"a", "one"}, {"b", "two"}});
  EXPECT_EQ(refusal(), "2 tensors");
  put_tensor("model.safetensors", "c");
  EXPECT_EQ(refusal(), "1 tensors");
}

TEST_F(SafetensorsFolderTest, TheIndexIsTrue) {
  put_tensor("one", "a");
  put_tensor("two", "b");
  put_index({{"a", "two"}, {"b", "two"}});
  EXPECT_EQ(refusal(),
            "/model.safetensors.index.json: weight_map puts 'a' into two, but it is in none of its "
            "files");
  put_index({{"a", "one"}, {"b", "one"}, {"c", "two"}});
  EXPECT_EQ(refusal(),
            "/model.safetensors.index.json: weight_map puts 'b' into one, but it is in /two");
  put_index({{"a", "one"}, {"b", "gone"}});
  EXPECT_EQ(refusal(), "/gone: No such file or directory");
  put("two", packed(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                    R"("z":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
                    "x"));
  put_index({{"a", "one"}, {"b", "two"}});
  EXPECT_EQ(refusal(), "/two: 'z' is not in the weight_map of model.safetensors.index.json");
  put_tensor("two", "a");
  EXPECT_EQ(refusal(), "/two: 'a' stands in /one too: a duplicate");
}

TEST_F(SafetensorsFolderTest, TheIndexNamesBareFilesOnly) {
  for (const std::string name : {"../out", "/etc/passwd", "", ".", "..", "a/b", "a\\b"}) {
    put_index({{"a", name}});
    EXPECT_EQ(refusal(), "/model.safetensors.index.json: weight_map names '" + name +
                             "', which is no bare name of a file beside it");
  }
  put_index({{"a", std::string("o\0ne", 4)}});
  EXPECT_THAT(refusal(), HasSubstr("no bare name"));
  put_index({{"a", 3}});
  EXPECT_THAT(refusal(), HasSubstr("weight_map gives 'a' no file's name"));
  put("model.safetensors.index.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("weight_map, tensor names to file names, is missing"));
  put("model.safetensors.index.json", R"({"weight_map": []})");
  EXPECT_THAT(refusal(), HasSubstr("is no object"));
  put("model.safetensors.index.json", R"({"weight_map": {)");
  EXPECT_THAT(refusal(), HasSubstr("not JSON"));
}

TEST_F(SafetensorsFolderTest, APipeInAFolderIsNotWaitedFor) {
  ASSERT_EQ(testing::run_shell("mkfifo '" + (folder_ / "model.safetensors").string() + "'").status,
            0);
  EXPECT_EQ(refusal(), "/model.safetensors: is not a regular file");
}

TEST_F(SafetensorsFolderTest, FilesTogetherStayWithinTheLimit) {
  put_tensor("one", "a");
  put_tensor("two", "b");
  put_index({{"a", "one"}, {"b", "two"}});
  EXPECT_THROW(SafetensorsFolder::open(folder_.path().string(), 100), DataError);
}

}  // namespace
}  // namespace attn
