// The functions of lib/ops against PyTorch's numbers: every reference file that holds single
// functions (expected/activations) or position tables (expected/sinusoidal). float is held to the
// tolerance stored in the file, double to 1e-9 of the stored values.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "io/hdf5_reader.h"
#include "ops/activation.h"
#include "ops/cross_entropy.h"
#include "ops/norm.h"
#include "ops/ops_test_support.h"
#include "ops/positions.h"
#include "ops/softmax.h"
#include "support/truth.h"

namespace attn {
namespace {

// One file with its expected values, for results of type T.
template <class T>
class Truth {
 public:
  explicit Truth(const Hdf5Reader& file) : file_(file) {}

  Tensor<T> input(const std::string& name) const { return file_.read<T>("/input/" + name); }

  void expect(const std::string& name, const std::vector<T>& got) const {
    const std::string path = "/expected/" + name;
    const auto want = file_.read<double>(path);
    ASSERT_EQ(got.size(), want.values.size()) << path;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got[i]), want.values[i], tolerance(path))
          << path << " at " << i << " of " << file_.name();
    }
  }

 private:
  // float: on the dataset or the nearest group above it.
  double tolerance(std::string path) const {
    if constexpr (std::is_same_v<T, double>) return 1e-9;
    while (!path.empty()) {
      if (const auto stored = file_.real_attribute(path, "tolerance_abs")) return *stored;
      path.resize(path.rfind('/'));
    }
    ADD_FAILURE() << "no tolerance_abs";
    return 0;
  }

  const Hdf5Reader& file_;
};

template <class T>
void hold_activations(const Hdf5Reader& file) {
  const std::map<std::string, Activation> known{{"gelu", Activation::kGelu},
                                                {"gelu_tanh", Activation::kGeluTanh},
                                                {"relu", Activation::kRelu},
                                                {"silu", Activation::kSilu}};
  const Truth<T> truth(file);
  const Tensor<T> x = truth.input("x");
  const std::vector<std::string> names = file.children("/expected/activations");
  EXPECT_GE(names.size(), 1U);
  for (const std::string& name : names) {
    ASSERT_TRUE(known.contains(name)) << name;
    Tensor<T> y(x.shape), slope(x.shape);
    activate_with_slope<T>(known.at(name), x.matrix(), y.matrix(), slope.matrix());
    truth.expect("activations/" + name, y.values);
    truth.expect("derivatives/" + name, slope.values);
  }
}

template <class T>
void hold_norms(const Hdf5Reader& file) {
  const Truth<T> truth(file);
  const Tensor<T> x = truth.input("matrix"), weight = truth.input("weight"),
                  bias = truth.input("bias"), d_y = truth.input("upstream");
  const T eps = static_cast<T>(file.real_attribute("/", "norm_eps").value());
  const auto rows = static_cast<std::size_t>(x.dim(0));
  std::vector<T> mean(rows), rstd(rows);
  Tensor<T> y(x.shape), d_x(x.shape), d_weight(weight.shape), d_bias(weight.shape);
  layer_norm<T>(x.matrix(), weight.data(), bias.data(), eps, y.matrix(), mean.data(), rstd.data());
  layer_norm_backward<T>(x.matrix(), weight.data(), mean.data(), rstd.data(), d_y.matrix(),
                         d_x.matrix(), d_weight.data(), d_bias.data());
  truth.expect("layernorm/output", y.values);
  truth.expect("layernorm/gradient_matrix", d_x.values);
  truth.expect("layernorm/gradient_weight", d_weight.values);
  truth.expect("layernorm/gradient_bias", d_bias.values);
  Tensor<T> d_x_rms(x.shape), d_weight_rms(weight.shape);
  rms_norm<T>(x.matrix(), weight.data(), eps, y.matrix(), rstd.data());
  rms_norm_backward<T>(x.matrix(), weight.data(), rstd.data(), d_y.matrix(), d_x_rms.matrix(),
                       d_weight_rms.data());
  truth.expect("rmsnorm/output", y.values);
  truth.expect("rmsnorm/gradient_matrix", d_x_rms.values);
  truth.expect("rmsnorm/gradient_weight", d_weight_rms.values);
}

template <class T>
void hold_losses(const Hdf5Reader& file) {
  const Truth<T> truth(file);
  Tensor<T> logits = truth.input("large_logits");
  const auto targets = file.read<std::int64_t>("/input/targets");
  const CrossEntropy sum = cross_entropy<T>(logits.matrix(), targets.values, T{1}, {});
  ASSERT_GT(sum.counted, 0);
  const double counted = static_cast<double>(sum.counted);
  Tensor<T> d_logits(logits.shape);
  cross_entropy<T>(logits.matrix(), targets.values, static_cast<T>(1 / counted), d_logits.matrix());
  truth.expect("cross_entropy/mean", {static_cast<T>(sum.loss_sum / counted)});
  truth.expect("cross_entropy/gradient_logits", d_logits.values);
  softmax_rows<T>(logits.matrix());
  truth.expect("softmax/probabilities", logits.values);
}

template <class T>
void hold_positions(const Hdf5Reader& file) {
  const Truth<T> truth(file);
  const Index length = file.int_attribute("/", "seq_len").value();
  Tensor<T> table({length, file.int_attribute("/", "dim").value()});
  sinusoidal_positions<T>(10000, 0, table.matrix());
  truth.expect("sinusoidal", table.values);
  const RopeTable<T> rope(file.int_attribute("/", "head_dim").value(),
                          file.real_attribute("/", "rope_base").value(), 0, length);
  truth.expect("rope_cos", rope.cos);
  truth.expect("rope_sin", rope.sin);
  const std::string prefix = "alibi_slopes_";
  for (const std::string& name : file.children("/expected")) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::vector<double> slopes = alibi_slopes(std::stoll(name.substr(prefix.size())));
    truth.expect(name, std::vector<T>(slopes.begin(), slopes.end()));
  }
}

template <class Hold>
void hold_files_with(const std::string& object, const Hold& hold) {
  ::attn::testing::TruthCount count;
  for (const auto& path : ::attn::testing::reference_files()) {
    const Hdf5Reader file = Hdf5Reader::open(path.string());
    if (!file.has_group(object) && !file.has_dataset(object)) {
      count.skip(path, "no " + object);
      continue;
    }
    hold(file);
    count.hold();
  }
}

TEST(ReferencePieces, ActivationsAndTheirDerivatives) {
  hold_files_with("/expected/activations", [](const Hdf5Reader& file) {
    hold_activations<float>(file);
    hold_activations<double>(file);
  });
}

TEST(ReferencePieces, NormsAndTheirGradients) {
  hold_files_with("/expected/layernorm", [](const Hdf5Reader& file) {
    hold_norms<float>(file);
    hold_norms<double>(file);
  });
}

TEST(ReferencePieces, SoftmaxAndCrossEntropyOfLargeLogits) {
  hold_files_with("/expected/cross_entropy", [](const Hdf5Reader& file) {
    hold_losses<float>(file);
    hold_losses<double>(file);
  });
}

TEST(ReferencePositions, Tables) {
  hold_files_with("/expected/sinusoidal", [](const Hdf5Reader& file) {
    hold_positions<float>(file);
    hold_positions<double>(file);
  });
}

}  // namespace
}  // namespace attn
