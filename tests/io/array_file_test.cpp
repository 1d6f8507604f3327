#include "io/array_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "io/npy.h"
#include "io/tensor_file.h"
#include "support/places.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string numpy_file(const std::string& name) {
  return (testing::source_folder() / "tests" / "data" / "numpy" / name).string();
}

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream file(numpy_file(name), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing";
}

std::string complaint_of(std::vector<std::byte> bytes, const ReadLimits& limits = {}) {
  return complaint([&] {
    const TensorFile file = TensorFile::from_bytes(std::move(bytes), "x", limits);
    file.read<double>(file.has_dataset("/q") ? "/q" : "/array");
  });
}

// A .npy whose header dictionary is `header`, with `data` bytes of zeros behind it.
std::vector<std::byte> npy_with(const std::string& header, std::size_t data, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  text += static_cast<char>(header.size() & 0xffU);
  text += static_cast<char>(header.size() >> 8U);
  if (version > 1) text += std::string(2, '\0');
  text += header + std::string(data, '\0');
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(ArrayFile, ReadsEveryWayInWhichNumpyWritesTheSameNumbers) {
  for (const char* name : {"plain.npy", "fortran_big_f8.npy", "f2.npy", "bfloat16_v2.npy",
                           "version2.npy", "version3.npy"}) {
    const TensorFile file = TensorFile::open(numpy_file(name));
    EXPECT_EQ(file.only_dataset(), "/array");
    const auto tensor = file.read<double>("/array");
    EXPECT_THAT(tensor.shape, ElementsAre(2, 3)) << name;
    EXPECT_THAT(tensor.values, ElementsAre(-1, -0.5, 0, 0.5, 1, 1.5)) << name;
  }
}

TEST(ArrayFile, NamesTheTypesItReads) {
  const auto type = [](const char* name) {
    return TensorFile::open(numpy_file(name)).info("/array").type_name;
  };
  EXPECT_EQ(type("plain.npy"), "f32");
  EXPECT_EQ(type("fortran_big_f8.npy"), "big-endian f64");
  EXPECT_EQ(type("bfloat16_v2.npy"), "bf16");
  EXPECT_EQ(type("bool.npy"), "bool");
  EXPECT_EQ(type("big_i4.npy"), "big-endian i32");
}

TEST(ArrayFile, RowsOfFortranOrderAreRows) {
  const TensorFile file = TensorFile::open(numpy_file("fortran_3d.npy"));
  std::vector<Index> row(12);
  file.read_rows("/array", 1, 1, row.data());
  for (Index n = 0; n < 12; ++n) EXPECT_EQ(row[static_cast<std::size_t>(n)], 12 + n);
}

TEST(ArrayFile, KeysOfAnArchiveAreDatasetsAndSingleValuesItsAttributes) {
  for (const char* name : {"case.npz", "case_deflated.npz"}) {
    const TensorFile file = TensorFile::open(numpy_file(name));
    EXPECT_THAT(file.read<float>("/q").values, ElementsAre(1, 0, 0, 1));
    EXPECT_EQ(file.int_attribute("/", "causal"), 1);
    EXPECT_EQ(file.text_attribute("/", "layout"), "BHSD");
    EXPECT_EQ(file.real_attribute("/", "scale"), std::sqrt(0.5));
    EXPECT_EQ(file.attribute_kind("/", "dtype"), AttributeKind::kText);
    EXPECT_THAT(file.attributes("/"), ElementsAre("causal", "dtype", "layout", "scale"));
    EXPECT_FALSE(file.has_attribute("/", "q"));
    EXPECT_FALSE(file.int_attribute("/", "nothing"));
  }
  const TensorFile file = TensorFile::open(numpy_file("case_deflated.npz"));
  EXPECT_TRUE(file.has_group("/causal_probe"));
  EXPECT_FALSE(file.has_dataset("/causal_probe"));
  EXPECT_EQ(file.read<Index>("causal_probe/first_changed_key").values.front(), 1);
  EXPECT_THAT(file.children("/causal_probe"), ElementsAre("first_changed_key", "k", "out", "v"));
}

TEST(ArrayFile, ReadsWhatThisLibraryWrites) {
  const TensorFile file = TensorFile::from_bytes(npy_bytes(Tensor<double>({2, 1}, {3, 4})), "x");
  EXPECT_THAT(file.read<double>("/array").values, ElementsAre(3, 4));
}

TEST(ArrayFile, ReadsNumbersAsText) {
  std::vector<std::byte> text(8);
  std::memcpy(text.data(), "1 2\n3 -4", 8);
  EXPECT_THAT(TensorFile::from_bytes(text, "x").read<double>("/array").shape, ElementsAre(2, 2));
}

TEST(ArrayFile, RefusesByNameWhatHoldsNoNumbers) {
  EXPECT_THAT(complaint_of(bytes_of("objects.npy")), HasSubstr("Python objects (a pickle)"));
  EXPECT_THAT(complaint_of(bytes_of("complex.npy")), HasSubstr("complex numbers"));
  EXPECT_THAT(complaint_of(bytes_of("record.npy")), HasSubstr("record array"));
  EXPECT_THAT(complaint([] { TensorFile::open(numpy_file("case.npz")).read<float>("/layout"); }),
              HasSubstr("/layout: holds text, want numbers"));
  EXPECT_THAT(complaint([] { TensorFile::open(numpy_file("case.npz")).read<float>("/z"); }),
              HasSubstr("no dataset /z; it has /causal () bool"));
}

TEST(ArrayFile, HoldsAHeaderToTheBytesBehindIt) {
  const auto shape = [](const std::string& extents) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }\n";
  };
  EXPECT_EQ(complaint_of(npy_with(shape("2, 2"), 16)), "nothing");
  EXPECT_EQ(complaint_of(npy_with(shape("2, 2"), 16, 2)), "nothing");
  EXPECT_EQ(complaint_of(npy_with(shape("2, 3L"), 16)),
            "x: truncated: shape (2, 3) of f32 needs 24 bytes, it has 16");
  EXPECT_THAT(complaint_of(npy_with(shape("4611686018427387904, 4"), 16)),
              HasSubstr("more than can be counted"));
  EXPECT_THAT(complaint_of(npy_with(shape("-1"), 16)), HasSubstr("an extent that is no count"));
  EXPECT_THAT(complaint_of(npy_with(shape("1,1,1,1,1,1,1,1,1"), 16)),
              HasSubstr("more than 8 axes"));
  EXPECT_THAT(complaint_of(npy_with("{'descr': '<f4'}", 16)), HasSubstr("lacks descr"));
  EXPECT_THAT(complaint_of(npy_with("__import__('os')", 16)), HasSubstr("no dictionary"));
  EXPECT_THAT(complaint_of(npy_with(shape("2") + "x", 16)), HasSubstr("goes on after its end"));
  EXPECT_THAT(complaint_of(npy_with(shape("2"), 16, 4)), HasSubstr("version 4"));
  EXPECT_THAT(complaint_of(npy_with("{'descr': '<f16', 'fortran_order': False, 'shape': ()}", 16)),
              HasSubstr("unusual width"));
}

// Every byte of both archives turned over, and every length of them: a file may read or be refused,
// and nothing else happens (the sanitizers' presets look on).
TEST(ArrayFile, OutlivesEveryByteThatIsWrong) {
  for (const char* name : {"case.npz", "case_deflated.npz", "plain.npy"}) {
    const std::vector<std::byte> whole = bytes_of(name);
    Index refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= std::byte{0xff};
      if (complaint_of(bytes) != "nothing") ++refused;
      bytes = whole;
      bytes.resize(std::max<std::size_t>(at, 1));
      EXPECT_NE(complaint_of(bytes), "nothing") << name << " cut at " << at;
    }
    EXPECT_GT(refused, 0);
  }
}

TEST(ArrayFile, SpendsNoMoreThanItMay) {
  // 256 KiB of zeros in 462 bytes.
  EXPECT_EQ(complaint_of(bytes_of("zeros.npz")), "nothing");
  ReadLimits limits;
  limits.max_bytes = 100000;
  EXPECT_THAT(complaint_of(bytes_of("zeros.npz"), limits), HasSubstr("--max-bytes"));
}

}  // namespace
}  // namespace attn
