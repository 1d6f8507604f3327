// Files as other people's programs write them, made with the HDF5 library itself, and read back by
// our reader: every number type in both byte orders, every layout, filters, holes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "io/hdf5_handle.h"
#include "io/hdf5_reader.h"
#include "support/process.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

class ForeignFile : public ::testing::Test {
 protected:
  // Before the library starts: at exit it would complain about what a refused file left open.
  ForeignFile() { H5dont_atexit(); }

  std::string path() const { return folder_ / "foreign.h5"; }

  void write(const std::function<void(hid_t)>& fill, bool latest = false) const {
    const PropertyId access(H5Pcreate(H5P_FILE_ACCESS));
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const FileId file(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
    ASSERT_TRUE(file.valid());
    fill(file.get());
  }

  testing::TempFolder folder_;
};

// Stores `values` under a type of the file; the library converts.
void put(hid_t file, const char* name, hid_t type, const std::vector<double>& values,
         const std::string& dtype_attribute = "") {
  const hsize_t extent = values.size();
  const SpaceId space(H5Screate_simple(1, &extent, nullptr));
  const DatasetId data(
      H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_TRUE(data.valid()) << name;
  ASSERT_GE(H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            0);
  if (dtype_attribute.empty()) return;
  const TypeId text(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.get(), H5T_VARIABLE);
  const SpaceId scalar(H5Screate(H5S_SCALAR));
  const AttributeId attribute(
      H5Acreate2(data.get(), "dtype", text.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* word = dtype_attribute.c_str();
  H5Awrite(attribute.get(), text.get(), &word);
}

TypeId custom_float(std::size_t size, std::size_t exponent, std::size_t mantissa,
                    std::size_t bias) {
  TypeId type(H5Tcopy(H5T_IEEE_F64LE));
  H5Tset_fields(type.get(), exponent + mantissa, mantissa, exponent, 0, mantissa);
  H5Tset_ebias(type.get(), bias);
  H5Tset_precision(type.get(), 1 + exponent + mantissa);
  H5Tset_size(type.get(), size);
  return type;
}

TEST_F(ForeignFile, EveryNumberTypeInBothByteOrders) {
  struct Case {
    const char* name;
    hid_t type;
    std::vector<double> values;
    DType dtype;
    std::string type_name;
  };
  const std::vector<double> fractions = {-1.5, 0.25, 0.0, 3.0};
  const std::vector<double> whole = {-3, 0, 7, 100};
  const std::vector<double> natural = {0, 1, 200, 255};
  H5open();
  const std::vector<Case> cases = {
      {"f64le", H5T_IEEE_F64LE, fractions, DType::kF64, "f64"},
      {"f64be", H5T_IEEE_F64BE, fractions, DType::kF64, "big-endian f64"},
      {"f32le", H5T_IEEE_F32LE, fractions, DType::kF32, "f32"},
      {"f32be", H5T_IEEE_F32BE, fractions, DType::kF32, "big-endian f32"},
      {"i64le", H5T_STD_I64LE, whole, DType::kI64, "i64"},
      {"i64be", H5T_STD_I64BE, whole, DType::kI64, "big-endian i64"},
      {"i32le", H5T_STD_I32LE, whole, DType::kI32, "i32"},
      {"i32be", H5T_STD_I32BE, whole, DType::kI32, "big-endian i32"},
      {"i16le", H5T_STD_I16LE, whole, DType::kI16, "i16"},
      {"i16be", H5T_STD_I16BE, whole, DType::kI16, "big-endian i16"},
      {"i8", H5T_STD_I8LE, whole, DType::kI8, "i8"},
      {"u64le", H5T_STD_U64LE, natural, DType::kU64, "u64"},
      {"u64be", H5T_STD_U64BE, natural, DType::kU64, "big-endian u64"},
      {"u32le", H5T_STD_U32LE, natural, DType::kU32, "u32"},
      {"u32be", H5T_STD_U32BE, natural, DType::kU32, "big-endian u32"},
      {"u16le", H5T_STD_U16LE, natural, DType::kU16, "u16"},
      {"u16be", H5T_STD_U16BE, natural, DType::kU16, "big-endian u16"},
      {"u8", H5T_STD_U8BE, natural, DType::kU8, "u8"},
      {"long_double", H5T_NATIVE_LDOUBLE, fractions, DType::kF64, "80-bit float"},
  };
  write([&](hid_t file) {
    for (const Case& one : cases) put(file, one.name, one.type, one.values);
  });
  const Hdf5Reader reader = Hdf5Reader::open(path());
  for (const Case& one : cases) {
    EXPECT_EQ(reader.info(one.name).type, one.dtype) << one.name;
    EXPECT_EQ(reader.read<double>(one.name).values, one.values) << one.name;
    const auto floats = reader.read<float>(one.name).values;
    for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(floats[i], one.values[i]) << one.name;
    if (std::string(one.name) != "long_double") {
      EXPECT_EQ(reader.info(one.name).type_name, one.type_name);
    }
  }
}

TEST_F(ForeignFile, SmallAndOddFloats) {
  H5open();
  const TypeId half = custom_float(2, 5, 10, 15);
  const TypeId brain = custom_float(2, 8, 7, 127);
  const TypeId eight = custom_float(1, 4, 3, 7);       // fp8 e4m3 with IEEE's infinities
  const TypeId tall = custom_float(8, 15, 40, 16383);  // wider exponent than double's
  const std::vector<double> values = {-1.5, 0.25, 0.0, 3.0, 0.015625};
  const TypeId opaque(H5Tcreate(H5T_OPAQUE, 2));
  write([&](hid_t file) {
    put(file, "half", half.get(), values);
    put(file, "brain", brain.get(), values);
    put(file, "eight", eight.get(), values);
    put(file, "tall", tall.get(), values);
    put(file, "bits", H5T_STD_U16BE, {0x3f80, 0xc020}, "bfloat16");  // 1, -2.5
    put(file, "plain", H5T_STD_U16LE, {0x3f80}, "uint16");
    const hsize_t two = 2;
    const SpaceId space(H5Screate_simple(1, &two, nullptr));
    const DatasetId data(H5Dcreate2(file, "opaque", opaque.get(), space.get(), H5P_DEFAULT,
                                    H5P_DEFAULT, H5P_DEFAULT));
  });
  const Hdf5Reader reader = Hdf5Reader::open(path());
  for (const char* name : {"half", "brain", "eight", "tall"}) {
    EXPECT_EQ(reader.read<double>(name).values, values) << name;
  }
  EXPECT_EQ(reader.info("half").type, DType::kF16);
  EXPECT_EQ(reader.info("brain").type, DType::kBF16);
  EXPECT_EQ(reader.info("eight").type_name, "8-bit float");
  EXPECT_EQ(reader.info("bits").type, DType::kBF16);
  EXPECT_EQ(reader.read<double>("bits").values, (std::vector<double>{1.0, -2.5}));
  EXPECT_EQ(reader.read<std::int64_t>("plain").values, std::vector<std::int64_t>{0x3f80});
  try {
    reader.read<float>("opaque");
    FAIL() << "opaque bytes are no numbers";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/opaque has type opaque, want a float or integer tensor"));
  }
}

TEST_F(ForeignFile, IntegersOfFewerBits) {
  H5open();
  const TypeId twelve(H5Tcopy(H5T_STD_I16LE));
  H5Tset_precision(twelve.get(), 12);
  H5Tset_offset(twelve.get(), 2);
  write([&](hid_t file) { put(file, "x", twelve.get(), {-2048, -1, 0, 2047}); });
  const Hdf5Reader reader = Hdf5Reader::open(path());
  EXPECT_EQ(reader.read<std::int32_t>("x").values, (std::vector<std::int32_t>{-2048, -1, 0, 2047}));
  EXPECT_EQ(reader.info("x").type_name, "12-bit signed integer");
}

// Uniform over 0 .. count - 1.
hsize_t below(Rng& rng, hsize_t count) {
  return static_cast<hsize_t>(rng.below(static_cast<Index>(count)));
}

// One random dataset: rank, extents, chunks, filters, holes.
struct Layout {
  std::vector<hsize_t> extents, chunks;
  hid_t type = H5T_IEEE_F32LE;
  bool deflate = false, shuffle = false, fletcher = false, whole_edges = true, latest = false;
  bool chunked = true;
};

Layout random_layout(Rng& rng) {
  Layout layout;
  const hsize_t rank = 1 + below(rng, 4);
  for (hsize_t i = 0; i < rank; ++i) {
    layout.extents.push_back(1 + below(rng, 7));
    // In the latest format a chunk of a fixed axis may not be longer than the axis.
    layout.chunks.push_back(1 + below(rng, layout.extents.back()));
  }
  const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I16LE, H5T_STD_U8LE};
  layout.type = types[below(rng, 4)];
  layout.deflate = below(rng, 2) == 0;
  layout.shuffle = below(rng, 2) == 0;
  layout.fletcher = below(rng, 2) == 0;
  layout.whole_edges = below(rng, 2) == 0;
  layout.latest = below(rng, 2) == 0;
  layout.chunked = below(rng, 5) != 0;
  return layout;
}

// The library's own reading of what it wrote is the truth.
std::vector<double> write_random(hid_t file, const Layout& layout, Rng& rng) {
  const int rank = static_cast<int>(layout.extents.size());
  const SpaceId space(H5Screate_simple(rank, layout.extents.data(), nullptr));
  const PropertyId creation(H5Pcreate(H5P_DATASET_CREATE));
  const double fill = 5;
  H5Pset_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &fill);
  if (layout.chunked) {
    H5Pset_chunk(creation.get(), rank, layout.chunks.data());
    if (layout.shuffle) H5Pset_shuffle(creation.get());
    if (layout.deflate) H5Pset_deflate(creation.get(), 6);
    if (layout.fletcher) H5Pset_fletcher32(creation.get());
    if (!layout.whole_edges && layout.latest) {
      H5Pset_chunk_opts(creation.get(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    }
  }
  const DatasetId data(
      H5Dcreate2(file, "x", layout.type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  // Some boxes are written, so that some chunks are not.
  const hsize_t boxes = below(rng, 4);
  for (hsize_t b = 0; b < boxes; ++b) {
    std::vector<hsize_t> start, count;
    hsize_t size = 1;
    for (const hsize_t extent : layout.extents) {
      start.push_back(below(rng, extent));
      count.push_back(1 + below(rng, extent - start.back()));
      size *= count.back();
    }
    std::vector<double> values(size);
    for (double& value : values) value = static_cast<double>(below(rng, 100));
    const SpaceId memory(H5Screate_simple(1, &size, nullptr));
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, values.data());
  }
  std::vector<double> truth(static_cast<std::size_t>(std::accumulate(
      layout.extents.begin(), layout.extents.end(), hsize_t{1}, std::multiplies<>())));
  EXPECT_GE(H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, truth.data()), 0);
  return truth;
}

TEST_F(ForeignFile, ChunksFiltersAndHolesReadAsTheLibraryReadsThem) {
  Rng rng(42, RandomPurpose::kExample);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Layout layout = random_layout(rng);
    std::vector<double> truth;
    write([&](hid_t file) { truth = write_random(file, layout, rng); }, layout.latest);
    const Hdf5Reader reader = Hdf5Reader::open(path());
    ASSERT_EQ(reader.read<double>("x").values, truth);
    // Any block of rows is that part of the whole.
    const auto rows = static_cast<Index>(layout.extents[0]);
    const Index row = static_cast<Index>(truth.size()) / rows;
    const auto first = rng.below(rows);
    const auto count = rng.below(rows - first + 1);
    std::vector<float> block(static_cast<std::size_t>(count * row));
    reader.read_rows("x", first, count, block.data());
    for (std::size_t i = 0; i < block.size(); ++i) {
      ASSERT_EQ(block[i], truth[static_cast<std::size_t>(first * row) + i]);
    }
  }
}

TEST_F(ForeignFile, FlippedBitsNeverCrashTheReader) {
  Rng rng(7, RandomPurpose::kExample);
  int refused = 0;
  int read = 0;
  for (int round = 0; round < 400; ++round) {
    if (round % 40 == 0) {
      const Layout layout = random_layout(rng);
      write([&](hid_t file) { write_random(file, layout, rng); }, layout.latest);
    }
    std::string text = testing::file_text(path());
    const hsize_t flips = 1 + below(rng, 4);
    for (hsize_t i = 0; i < flips; ++i) {
      char& byte = text[below(rng, text.size())];
      byte = static_cast<char>(byte ^ (1 << below(rng, 8)));
    }
    const auto* start = reinterpret_cast<const std::byte*>(text.data());
    try {
      const Hdf5Reader reader = Hdf5Reader::from_bytes({start, start + text.size()}, "flipped",
                                                       {.max_bytes = Index{1} << 26});
      reader.read<double>("x");
      ++read;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("flipped: "));
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace attn
