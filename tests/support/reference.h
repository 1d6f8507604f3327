#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5_reader.h"

// Comparison with the reference files: numbers of PyTorch in float64, each group with the
// tolerance that float32 needs (ten times what PyTorch's own float32 missed by).

namespace attn::testing {

/// One reference file, and what its numbers must be met within.
class Reference {
 public:
  explicit Reference(const std::filesystem::path& path)
      : reader_(Hdf5Reader::open(path.string())) {}

  const Hdf5Reader& reader() const { return reader_; }
  bool has(const std::string& path) const {
    return reader_.has_dataset(path) || reader_.has_group(path);
  }
  std::vector<Index> ids(const std::string& path) const { return reader_.read<Index>(path).values; }
  Index count(const std::string& name, const std::string& object = "/") const {
    const auto value = reader_.int_attribute(object, name);
    EXPECT_TRUE(value.has_value()) << name;
    return value.value_or(0);
  }
  double real(const std::string& name, const std::string& object) const {
    const auto value = reader_.real_attribute(object, name);
    EXPECT_TRUE(value.has_value()) << object << ' ' << name;
    return value.value_or(0);
  }
  std::string text(const std::string& name, const std::string& object = "/") const {
    return reader_.text_attribute(object, name).value_or("");
  }

  /// Holds `found` to the dataset. float: the file's tolerance_abs, of the dataset or its group; a
  /// gradient that is zero in exact arithmetic (a key bias without rope) is rounding noise in any
  /// arithmetic, and after updates the group's zero_gradient_tolerance_abs. double: 1e-9, where the
  /// dataset was stored in float32 1e-6 of its largest.
  template <class T>
  void expect_near(const std::string& path, const T* found, Index size) const {
    const Tensor<double> truth = reader_.read<double>(path);
    ASSERT_EQ(truth.size(), size) << path;
    const double limit = tolerance<T>(path, truth.values);
    ASSERT_GT(limit, 0) << path << " states no tolerance";
    for (Index i = 0; i < size; ++i) {
      const double wanted = truth.values[static_cast<std::size_t>(i)];
      ASSERT_LE(std::abs(static_cast<double>(found[i]) - wanted), limit)
          << path << '[' << i << "]: wanted " << wanted << ", got " << found[i];
    }
  }
  template <class T>
  void expect_near(const std::string& path, const std::vector<T>& found) const {
    expect_near(path, found.data(), static_cast<Index>(found.size()));
  }
  void expect_near(const std::string& path, double found, bool in_float) const {
    const auto narrow = static_cast<float>(found);
    if (in_float) {
      expect_near(path, &narrow, 1);
    } else {
      expect_near(path, &found, 1);
    }
  }

 private:
  template <class T>
  double tolerance(const std::string& path, const std::vector<double>& truth) const {
    if (std::is_same_v<T, double>) {
      if (reader_.info(path).type != DType::kF32) return 1e-9;
      double largest = 0;
      for (const double value : truth) largest = std::max(largest, std::abs(value));
      return 1e-6 * largest;
    }
    const std::string group = path.substr(0, path.rfind('/'));
    if (reader_.int_attribute(path, "zero_gradient").value_or(0) == 1 &&
        group.ends_with("/parameters")) {
      const std::string after = group.substr(0, group.rfind('/'));
      return reader_.real_attribute(after, "zero_gradient_tolerance_abs").value_or(0);
    }
    const auto own = reader_.real_attribute(path, "tolerance_abs");
    return own ? *own : reader_.real_attribute(group, "tolerance_abs").value_or(0);
  }

  Hdf5Reader reader_;
};

}  // namespace attn::testing
