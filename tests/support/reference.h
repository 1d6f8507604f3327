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

  /// Holds `found` to the dataset. float: the file's tolerance_abs, of the dataset or its group.
  /// double: 1e-9, where the dataset was stored in float32 1e-6 of its largest. A parameter whose
  /// gradient is zero in exact arithmetic (a key bias without rope) is moved by rounding noise in
  /// any arithmetic: see noise_limit.
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
    const std::string group = path.substr(0, path.rfind('/'));
    if (group.ends_with("/parameters") &&
        reader_.int_attribute(path, "zero_gradient").value_or(0) == 1) {
      return noise_limit<T>(group.substr(0, group.rfind('/')));
    }
    if (std::is_same_v<T, double>) {
      if (reader_.info(path).type != DType::kF32) return 1e-9;
      double largest = 0;
      for (const double value : truth) largest = std::max(largest, std::abs(value));
      return 1e-6 * largest;
    }
    const auto own = reader_.real_attribute(path, "tolerance_abs");
    return own ? *own : reader_.real_attribute(group, "tolerance_abs").value_or(0);
  }

  // How far noise alone takes a parameter until `after` (after_K). float: AdamW divides noise by
  // its own size, and the file's zero_gradient_tolerance_abs counts a whole rate for each update;
  // with a beta1 that forgets faster than beta2 an update can be longer. double: noise of 1e-15 is
  // small beside eps, which divides it instead.
  template <class T>
  double noise_limit(const std::string& after) const {
    const double whole =
        real("zero_gradient_tolerance_abs", after) *
        std::max(1.0, longest_update(std::stoi(after.substr(after.rfind('_') + 1))));
    if (std::is_same_v<T, float>) return whole;
    return std::max(1e-9, whole * std::min(1.0, 1e-15 / real("eps", "/input/steps")));
  }

  // The longest update of AdamW up to `updates`, in rates: of m / sqrt(v), two means of the same
  // gradients with weights a_i and b_i, Cauchy and Schwarz allow sqrt(sum a_i^2 / b_i).
  double longest_update(int updates) const {
    const double beta1 = real("beta1", "/input/steps");
    const double beta2 = real("beta2", "/input/steps");
    double longest = 0;
    for (int t = 1; t <= updates; ++t) {
      double sum = 0;
      for (int age = 0; age < t; ++age) {
        const double a = (1 - beta1) * std::pow(beta1, age) / (1 - std::pow(beta1, t));
        const double b = (1 - beta2) * std::pow(beta2, age) / (1 - std::pow(beta2, t));
        sum += a * a / b;
      }
      longest = std::max(longest, std::sqrt(sum));
    }
    return longest;
  }

  Hdf5Reader reader_;
};

}  // namespace attn::testing
