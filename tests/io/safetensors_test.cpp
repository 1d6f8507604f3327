#include "io/safetensors.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/rng.h"
#include "io/safetensors_bytes.h"

namespace attn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

SafetensorsFile file_of(const std::string& bytes) {
  return SafetensorsFile::from_bytes(bytes_of(bytes), "m.safetensors");
}

std::string refusal(const std::string& bytes) {
  try {
    file_of(bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "(accepted)";
}

// Two tensors of F32, 8 and 4 bytes, with one thing changed.
std::string refusal_with(const std::function<void(json&)>& change, const std::string& extra = "") {
  json header = {{"a", {{"dtype", "F32"}, {"shape", {2, 1}}, {"data_offsets", {0, 8}}}},
                 {"b", {{"dtype", "F32"}, {"shape", json::array()}, {"data_offsets", {8, 12}}}}};
  change(header);
  return refusal(packed(header.dump(), std::string(12, '\0') + extra));
}

TEST(Safetensors, ReadsByHandWhatStandsThere) {
  // 1.0 and -2.5 in bfloat16 are 0x3f80 and 0xc020; 0.5 in half precision is 0x3800.
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[],"data_offsets":[4,6]},)"
      R"("w":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}   )";
  const SafetensorsFile file = file_of(packed(header, std::string("\x80\x3f\x20\xc0\x00\x38", 6)));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.entries().size(), 2U);
  EXPECT_EQ(file.entries()[0].name, "h");
  EXPECT_TRUE(file.entries()[0].shape.empty());
  EXPECT_EQ(file.entries()[1].shape, (Shape{1, 2}));
  float half = 0;
  file.read(file.entries()[0], &half);
  EXPECT_EQ(half, 0.5F);
  std::vector<double> pair(2);
  file.read(file.entries()[1], pair.data());
  EXPECT_THAT(pair, ElementsAre(1.0, -2.5));
}

TEST(Safetensors, ATensorOfNothingAndAFileOfNoneAreSound) {
  EXPECT_EQ(refusal(packed("{}", "")), "(accepted)");
  EXPECT_EQ(refusal_with([](json& h) {
              h["c"] = {{"dtype", "F32"}, {"shape", {0, 4}}, {"data_offsets", {8, 8}}};
            }),
            "(accepted)");
}

TEST(Safetensors, TheHeadersLengthFitsTheFile) {
  EXPECT_EQ(refusal("abc"), "m.safetensors: too short for a safetensors header: 3 bytes");
  EXPECT_EQ(refusal(length_bytes(1) + ""),
            "m.safetensors: its safetensors header would be 1 byte long, beyond the file's 8");
  for (const std::uint64_t length :
       {std::uint64_t{1} << 40, ~std::uint64_t{7}, ~std::uint64_t{0}}) {
    EXPECT_THAT(refusal(length_bytes(length) + "{}"), HasSubstr("beyond the file's 10"));
  }
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("Git LFS"));
}

TEST(Safetensors, TheHeaderIsOneObjectOfJson) {
  for (const char* header : {"", " ", "[]", "1", "\"a\"", "null", "{", "{}{}", "{} x", "{\"a\":}",
                             "[{}]", "{\"\xff\":1}", "\xef\xbb\xbf{}"}) {
    EXPECT_THAT(refusal(packed(header, "")), HasSubstr("m.safetensors: ")) << header;
    EXPECT_THAT(refusal(packed(header, "")), HasSubstr("header")) << header;
    EXPECT_THAT(refusal(packed(header, "")), HasSubstr("JSON")) << header;
  }
  // nlohmann's parser takes a NUL for the end.
  EXPECT_THAT(refusal(packed(std::string("{}\0{}", 5), "")), HasSubstr("header: not JSON"));
  EXPECT_THAT(refusal(packed("{\"a\":{\"x\":" + std::string(100000, '['), "")),
              HasSubstr("nested more than 100 levels"));
}

TEST(Safetensors, AnEntryHasItsThreeFields) {
  EXPECT_EQ(refusal_with([](json& h) { h["a"].erase("dtype"); }),
            "m.safetensors: 'a': lacks dtype");
  EXPECT_EQ(refusal_with([](json& h) { h["b"].erase("shape"); }),
            "m.safetensors: 'b': lacks shape");
  EXPECT_EQ(refusal_with([](json& h) { h["b"].erase("data_offsets"); }),
            "m.safetensors: 'b': lacks data_offsets");
  EXPECT_EQ(refusal_with([](json& h) { h["a"] = 3; }),
            "m.safetensors: 'a': the header wants an object with dtype, shape and data_offsets, "
            "got 3");
  EXPECT_EQ(refusal_with([](json& h) { h["a"]["dtype"] = "F128"; }),
            "m.safetensors: 'a': unknown dtype 'F128'");
  EXPECT_EQ(refusal_with([](json& h) { h["a"]["dtype"] = "f32"; }),
            "m.safetensors: 'a': unknown dtype 'f32'");
  EXPECT_EQ(refusal_with([](json& h) { h["a"]["dtype"] = 32; }),
            "m.safetensors: 'a': dtype must be a type such as F32, got 32");
  EXPECT_EQ(refusal_with([](json& h) { h["a"]["shape"] = "2x1"; }),
            "m.safetensors: 'a': shape must be a list of whole numbers, got '2x1'");
  for (const json& extent : {json(-8), json(2.0), json("2"), json(true), json(nullptr)}) {
    EXPECT_THAT(refusal_with([&](json& h) { h["a"]["shape"] = {extent}; }),
                HasSubstr("'a': shape must hold whole numbers from 0, got "));
  }
  // A field that nobody knows says nothing about the tensor.
  EXPECT_EQ(refusal_with([](json& h) {
              h["a"]["note"] = {{"dtype", {1, {{"x", 2}}}}};
            }),
            "(accepted)");
  EXPECT_EQ(refusal_with([](json& h) {
              h["__metadata__"] = {{"n", 3}};
            }),
            "m.safetensors: the header's __metadata__ may hold text only: 'n' is 3");
  EXPECT_THAT(refusal_with([](json& h) { h["__metadata__"] = "pt"; }), HasSubstr("__metadata__"));
}

TEST(Safetensors, NoNameStandsTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(refusal(packed("{" + a + "," + a + "}", "x")), "m.safetensors: 'a' stands there twice");
  EXPECT_EQ(
      refusal(packed(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"dtype":"I8"}})", "x")),
      "m.safetensors: 'a': 'dtype' stands there twice");
  EXPECT_THAT(refusal(packed(R"({"__metadata__":{"x":"1","x":"2"}})", "")),
              HasSubstr("'x' stands there twice"));
}

TEST(Safetensors, OffsetsAreARangeOfTheData) {
  const auto with = [](const json& offsets) {
    return refusal_with([&](json& h) { h["a"]["data_offsets"] = offsets; });
  };
  for (const json& offsets : {json({-8, 8}), json({"0", "8"}), json({0.0, 8}), json::array({0}),
                              json({0, 8, 8}), json::array(), json(8), json({0, nullptr})}) {
    EXPECT_THAT(with(offsets), HasSubstr("'a': data_offsets must be ")) << offsets;
  }
  EXPECT_EQ(with({8, 0}), "m.safetensors: 'a': data_offsets [8, 0] end before they begin");
  EXPECT_EQ(with({0, 4096}),
            "m.safetensors: 'a': data_offsets [0, 4096] go beyond the 12 bytes of data");
  EXPECT_THAT(with({0, ~std::uint64_t{0}}), HasSubstr("'a': data_offsets"));
}

TEST(Safetensors, ShapeTimesWidthIsTheSpan) {
  const auto with = [](const json& shape) {
    return refusal_with([&](json& h) { h["a"]["shape"] = shape; });
  };
  EXPECT_EQ(with({3}),
            "m.safetensors: 'a': shape (3) of F32 is 12 bytes, data_offsets [0, 8] span 8");
  EXPECT_EQ(with({1LL << 32, 1LL << 32}),
            "m.safetensors: 'a': shape (4294967296, 4294967296) of F32 is too large for 63 bits, "
            "data_offsets [0, 8] span 8");
  EXPECT_THAT(with(std::vector<int>(1000, 2)), HasSubstr("'a': shape has more than 64 dimensions"));
}

TEST(Safetensors, TensorsCoverTheDataOnceEach) {
  EXPECT_EQ(refusal_with([](json& h) {
              h["b"]["data_offsets"] = {4, 8};
            }),
            "m.safetensors: 'b': data_offsets [4, 8] overlap the tensor before, which ends at 8");
  EXPECT_EQ(
      refusal_with([](json& h) { h.erase("a"); }),
      "m.safetensors: 'b': data_offsets [8, 12] leave a gap after the data before, which ends "
      "at 0");
  EXPECT_EQ(refusal_with([](json&) {}, "...."),
            "m.safetensors: 4 bytes after the last tensor belong to none");
}

TEST(Safetensors, NumbersAreFloatsAndFinite) {
  const auto read = [](const std::string& type, const std::string& data) -> std::string {
    const SafetensorsFile file = file_of(packed(
        json{{"a", {{"dtype", type}, {"shape", {1}}, {"data_offsets", {0, data.size()}}}}}.dump(),
        data));
    float number = 0;
    try {
      file.read(file.entries().front(), &number);
    } catch (const DataError& error) {
      return error.what();
    }
    return fmt::format("{}", number);
  };
  const auto f64 = [](double value) {
    std::string data(sizeof value, '\0');
    std::memcpy(data.data(), &value, sizeof value);
    return data;
  };
  EXPECT_EQ(read("F64", f64(0.1)), "0.1");
  EXPECT_EQ(read("F64", f64(1e300)), "m.safetensors: 'a': not finite: number 0 of 1 is inf");
  EXPECT_EQ(read("BF16", std::string("\x80\xff", 2)),
            "m.safetensors: 'a': not finite: number 0 of 1 is -inf");
  EXPECT_EQ(read("I32", std::string(4, '\0')),
            "m.safetensors: 'a': wanted F32, F16, BF16 or F64, its dtype is I32");
  EXPECT_THAT(read("F8_E4M3", "x"), HasSubstr("its dtype is F8_E4M3"));
}

TEST(Safetensors, NamesAreMadeSafeToPrint) {
  EXPECT_EQ(refusal(packed(R"({"\u001b[31mred":{"dtype":"F128"}})", "")),
            "m.safetensors: '\\x1b[31mred': unknown dtype 'F128'");
}

// Damaged headers of every kind end in a DataError or are read; nothing is taken for what they
// declare, and every tensor of one that is read lies within its data.
TEST(Safetensors, DamageIsRefusedOrReadWithinTheData) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (int i = 0; i < 6; ++i) {
    header[fmt::format("h.{}.w", i)] = {
        {"dtype", i % 2 == 0 ? "F32" : "BF16"},
        {"shape", {i, 2}},
        {"data_offsets",
         {data.size(), data.size() + (i % 2 == 0 ? 8U : 4U) * static_cast<unsigned>(i)}}};
    data += std::string((i % 2 == 0 ? 8U : 4U) * static_cast<unsigned>(i), '\0');
  }
  const std::string sound = packed(header.dump(), data);
  ASSERT_EQ(refusal(sound), "(accepted)");
  const std::string alphabet = "0123456789{}[]\",:-.eE \\u\xff\x80 nulltruefalse\n\0";
  Rng rng(7, RandomPurpose::kExample);
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(rng.below(static_cast<Index>(count)));
  };
  int refused = 0;
  constexpr int kDamages = 4000;
  for (int trial = 0; trial < kDamages; ++trial) {
    std::string bytes = sound;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(bytes.size());
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          bytes[at] = alphabet[below(alphabet.size())];
          break;
        case 2:
          bytes.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 3:
          bytes.erase(at, 1 + below(8));
          break;
        case 4:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
          break;
        default:
          bytes.resize(at);
      }
      if (bytes.empty()) bytes = "x";
    }
    if (below(2) == 0 && bytes.size() > 8) {  // so that the damage is in the JSON, not its length
      bytes = length_bytes(std::min(header.dump().size(), bytes.size() - 8)) + bytes.substr(8);
    }
    try {
      const SafetensorsFile file = file_of(bytes);
      for (const SafetensorsEntry& entry : file.entries()) {
        ASSERT_LE(entry.end, static_cast<Index>(bytes.size()));
        std::vector<float> numbers(static_cast<std::size_t>(entry.end - entry.begin));
        if (entry.type && is_floating(*entry.type)) file.read(entry, numbers.data());
      }
    } catch (const DataError& error) {
      ++refused;
      ASSERT_THAT(error.what(), HasSubstr("m.safetensors"));
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, kDamages / 2);
  EXPECT_LT(refused, kDamages) << "no damage was harmless: the trials are all alike";
}

}  // namespace
}  // namespace attn
