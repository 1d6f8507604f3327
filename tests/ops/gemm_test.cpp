#include "ops/gemm.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "ops/blas_core.h"
#include "ops/ops_test_support.h"
#include "support/address_space.h"

namespace attn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Shape3 {
  Index m, n, k;
};

// Every kernel edge of the usual block sizes, and the model's own shapes.
constexpr std::array<Shape3, 14> kShapes{{{1, 1, 1},
                                          {1, 64, 64},
                                          {2, 3, 5},
                                          {7, 17, 33},
                                          {12, 12, 16},
                                          {12, 16, 12},
                                          {64, 64, 192},
                                          {65, 31, 129},
                                          {96, 256, 64},
                                          {128, 5, 7},
                                          {192, 192, 64},
                                          {1, 300, 385},
                                          {33, 513, 70},
                                          {385, 129, 257}}};

// |error| of a sum of k products of numbers below 1, each rounded, in any order of summation.
template <class T>
double sum_tolerance(Index k) {
  return static_cast<double>(k + 2) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

// alpha 0.5 and beta 2 go to BLAS, 1 with 0 or 1 to our own panels.
template <class T>
void expect_products_right(Transpose ta, Transpose tb, double alpha, double beta) {
  for (const Shape3& shape : kShapes) {
    const auto [m, n, k] = shape;
    // Wider than the views: strides that are not the columns.
    auto a = random_tensor<T>(ta == Transpose::kYes ? Shape{k, m + 3} : Shape{m, k + 3}, 1);
    auto b = random_tensor<T>(tb == Transpose::kYes ? Shape{n, k + 2} : Shape{k, n + 2}, 2);
    auto c = random_tensor<T>({m, n + 1}, 3);
    const Tensor<T> before = c;
    const auto a_view = a.matrix().col_block(2, ta == Transpose::kYes ? m : k);
    const auto b_view = b.matrix().col_block(1, tb == Transpose::kYes ? k : n);
    gemm<T>(ta, tb, static_cast<T>(alpha), a_view, b_view, static_cast<T>(beta),
            c.matrix().col_block(0, n));
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index l = 0; l < k; ++l) {
          sum += static_cast<double>(ta == Transpose::kYes ? a_view(l, i) : a_view(i, l)) *
                 static_cast<double>(tb == Transpose::kYes ? b_view(j, l) : b_view(l, j));
        }
        const double want = alpha * sum + beta * static_cast<double>(before.matrix()(i, j));
        ASSERT_NEAR(static_cast<double>(c.matrix()(i, j)), want, sum_tolerance<T>(k))
            << m << " x " << n << " x " << k << " at " << i << ", " << j << " on "
            << blas_description();
      }
      // The column beside the view is not touched.
      ASSERT_EQ(c.matrix()(i, n), before.matrix()(i, n));
    }
  }
}

TEST(Gemm, AgreesWithDoubleSumsOnTheCoreInUse) {
  for (const Transpose ta : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose tb : {Transpose::kNo, Transpose::kYes}) {
      for (const auto& [alpha, beta] : {std::pair{0.5, 2.0}, {1.0, 0.0}, {1.0, 1.0}}) {
        expect_products_right<float>(ta, tb, alpha, beta);
        expect_products_right<double>(ta, tb, alpha, beta);
      }
    }
  }
}

// One to four rows by a transposed matrix are decoding's products and have a kernel of their own.
TEST(Gemm, FewRowsAgreeWithDoubleSums) {
  for (const Index m : {1, 2, 3, 4, 5}) {
    for (const Index n : {1, 3, 4, 7, 50}) {
      for (const Index k : {1, 3, 16, 65, 384}) {
        const auto a = random_tensor<float>({m, k + 1}, 1);
        const auto b = random_tensor<float>({n, k + 1}, 2);
        Tensor<float> c({m, n});
        gemm<float>(Transpose::kNo, Transpose::kYes, 1, a.matrix().col_block(1, k),
                    b.matrix().col_block(0, k), 0, c.matrix());
        for (Index i = 0; i < m; ++i) {
          for (Index j = 0; j < n; ++j) {
            double sum = 0;
            for (Index l = 0; l < k; ++l) {
              sum +=
                  static_cast<double>(a.matrix()(i, l + 1)) * static_cast<double>(b.matrix()(j, l));
            }
            ASSERT_NEAR(static_cast<double>(c.matrix()(i, j)), sum, sum_tolerance<float>(k))
                << m << " x " << n << " x " << k << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

// Decoding's rows, panels and BLAS.
TEST(Gemm, ABiasIsAddedToEveryRow) {
  for (const Index rows : {1, 4, 5, 40}) {
    for (const Shape3& shape : {Shape3{rows, 70, 300}, Shape3{rows, 2050, 512}}) {
      const auto x = random_tensor<float>({shape.m, shape.k}, 1, 0.1);
      const auto weight = random_tensor<float>({shape.n, shape.k}, 2);
      const auto bias = random_tensor<float>({shape.n}, 3);
      Tensor<float> with({shape.m, shape.n}), without({shape.m, shape.n});
      gemm_bias<float>(x.matrix(), weight.matrix(), bias.data(), with.matrix());
      gemm_bias<float>(x.matrix(), weight.matrix(), nullptr, without.matrix());
      for (Index i = 0; i < shape.m; ++i) {
        for (Index j = 0; j < shape.n; ++j) {
          const float want = without.matrix()(i, j) + bias.values[static_cast<std::size_t>(j)];
          ASSERT_NEAR(with.matrix()(i, j), want, 1e-5F) << i << ", " << j;
        }
      }
    }
  }
}

// A row of a panel's product has bits of its own: layers may be cut into blocks anyhow.
TEST(Gemm, RowsOfPanelsDoNotDependOnEachOther) {
  const auto a = random_tensor<float>({100, 300}, 1);
  const auto b = random_tensor<float>({130, 300}, 2);
  Tensor<float> whole({100, 130}), parts({100, 130});
  const auto product = [&](Index first, Index rows, Matrix<float> c) {
    gemm<float>(Transpose::kNo, Transpose::kYes, 1, a.matrix().row_block(first, rows), b.matrix(),
                0, c.row_block(first, rows));
  };
  product(0, 100, whole.matrix());
  product(0, 33, parts.matrix());
  product(33, 5, parts.matrix());
  product(38, 62, parts.matrix());
  EXPECT_EQ(whole.values, parts.values);
}

TEST(Gemm, OneRowMayHaveAnyStride) {
  const Tensor<float> a({1, 2}, {1, 2});
  const Tensor<float> b({2, 2}, {3, 4, 5, 6});
  Tensor<float> c({1, 2});
  gemm<float>(Transpose::kNo, Transpose::kNo, 1, Matrix<const float>(a.data(), 1, 2, 0), b.matrix(),
              0, Matrix<float>(c.data(), 1, 2, 0));
  EXPECT_EQ(c.values, (std::vector<float>{13, 16}));
}

TEST(Gemm, BetaZeroDoesNotReadTheResult) {
  const Tensor<float> a({1, 1}, {2});
  Tensor<float> c({1, 1}, {std::numeric_limits<float>::quiet_NaN()});
  gemm<float>(Transpose::kNo, Transpose::kNo, 1, a.matrix(), a.matrix(), 0, c.matrix());
  EXPECT_EQ(c.values[0], 4);
}

TEST(Gemm, EmptyExtents) {
  Tensor<float> c({2, 2}, {1, 2, 3, 4});
  const Matrix<const float> no_cols(nullptr, 2, 0);
  const Matrix<const float> no_rows(nullptr, 0, 2);
  gemm<float>(Transpose::kNo, Transpose::kNo, 1, no_cols, no_rows, 2, c.matrix());
  EXPECT_EQ(c.values, (std::vector<float>{2, 4, 6, 8}));
  gemm<float>(Transpose::kNo, Transpose::kNo, 1, no_cols, no_rows, 0, c.matrix());
  EXPECT_EQ(c.values, (std::vector<float>{0, 0, 0, 0}));
  gemm<float>(Transpose::kNo, Transpose::kNo, 1, no_rows, c.matrix(), 0,
              Matrix<float>(nullptr, 0, 2));
}

TEST(Gemm, RefusesShapesThatDisagree) {
  Tensor<float> a({2, 3}), b({2, 3}), c({2, 2});
  EXPECT_THROW(
      gemm<float>(Transpose::kNo, Transpose::kNo, 1, a.matrix(), b.matrix(), 0, c.matrix()),
      ShapeError);
  EXPECT_THROW(
      gemm<float>(Transpose::kYes, Transpose::kNo, 1, a.matrix(), b.matrix(), 0, c.matrix()),
      ShapeError);
  const Matrix<const float> huge(a.data(), 2, 3, Index{1} << 32);
  EXPECT_THROW(gemm<float>(Transpose::kNo, Transpose::kYes, 1, huge, a.matrix(), 0, c.matrix()),
               ShapeError);
}

TEST(BlasCore, IsChangedOnlyAwayFromPrescott) {
  BlasCoreFacts facts{.library_core = "Prescott", .avx512 = true, .avx2 = true};
  EXPECT_EQ(wanted_blas_core(facts), "SkylakeX");
  facts.avx512 = false;
  EXPECT_EQ(wanted_blas_core(facts), "Haswell");
  facts.avx2 = false;
  EXPECT_EQ(wanted_blas_core(facts), "");
  facts.avx2 = true;
  facts.user_has_chosen = true;
  EXPECT_EQ(wanted_blas_core(facts), "");
  facts.user_has_chosen = false;
  facts.library_core = "Zen";
  EXPECT_EQ(wanted_blas_core(facts), "");
}

// The library reads its variable when it is loaded, so the choice is seen in a program of its
// own: this test binary, run again for the one test below with `environment` in front.
std::string core_in_child(const std::string& environment) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  EXPECT_GT(length, 0);
  const std::string command = "env " + environment + " '" + self.data() +
                              "' --gtest_filter=BlasCoreChild.Says --gtest_also_run_disabled_tests";
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(bugprone-command-processor): our own path
  EXPECT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 256> line{};
  while (fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    if (std::string(line.data()).rfind("core: ", 0) == 0) output = line.data() + 6;
  }
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 0);
  return output;
}

// Not a test by itself: what core_in_child runs.
TEST(BlasCoreChild, Says) {
  if (std::getenv("ATTNTOOLS_TEST_FORGET_CORE") != nullptr) {
    ASSERT_NE(dlopen("libopenblas.so.0", RTLD_NOW), nullptr) << dlerror();
    unsetenv("OPENBLAS_CORETYPE");
  }
  std::printf("core: %s\n", blas_description().c_str());
  // Choosing leaves the environment as it was.
  if (std::getenv("ATTNTOOLS_TEST_FORGET_CORE") != nullptr) {
    EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr);
  }
}

TEST(BlasCore, IsNotPrescottWhereTheProcessorHasAvx2) {
  if (!cpu_has_avx2()) GTEST_SKIP() << "no AVX2 here";
  EXPECT_THAT(core_in_child("-u OPENBLAS_CORETYPE"), Not(HasSubstr("Prescott")));
}

// Loaded with Prescott and then asked without the variable: what an unknown processor looks like.
TEST(BlasCore, PrescottWithoutAUsersWordIsReplaced) {
  if (!cpu_has_avx2()) GTEST_SKIP() << "no AVX2 here";
  if (core_in_child("OPENBLAS_CORETYPE=Prescott").find("Prescott") == std::string::npos) {
    GTEST_SKIP() << "this BLAS has no core to choose: " << blas_description();
  }
  EXPECT_THAT(core_in_child("OPENBLAS_CORETYPE=Prescott ATTNTOOLS_TEST_FORGET_CORE=1"),
              HasSubstr(cpu_has_avx512() ? "SkylakeX" : "Haswell"));
}

TEST(BlasCore, AUsersChoiceIsHonoured) {
  if (!cpu_has_avx2()) GTEST_SKIP() << "no AVX2 here";
  const std::string core = core_in_child("OPENBLAS_CORETYPE=Prescott");
  if (core.find("OpenBLAS") == std::string::npos) GTEST_SKIP() << "not OpenBLAS: " << core;
  EXPECT_THAT(core, HasSubstr("Prescott"));
  EXPECT_THAT(core_in_child("OPENBLAS_CORETYPE=Haswell"), HasSubstr("Haswell"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// OpenBLAS itself would try for ever. In another process, which sets the limit to what it has and
// half a buffer; in a thread, which has not multiplied yet.
TEST(Gemm, SaysWhereAddressSpaceLeavesNoBuffer) {
  if (!address_space_can_be_limited()) GTEST_SKIP() << "limits of address space are not kept here";
  const auto multiply_in_little_room = [] {
    alarm(60);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
    const rlimit limit = {most, most};
    setrlimit(RLIMIT_AS, &limit);
    std::string said;
    std::thread([&said] {
      const Tensor<float> a({8, 8}), b({8, 8});
      Tensor<float> c({8, 8});
      try {
        gemm<float>(Transpose::kNo, Transpose::kNo, 2, a.matrix(), b.matrix(), 0, c.matrix());
      } catch (const DataError& error) {
        said = error.what();
      }
    }).join();
    std::fputs(said.c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(multiply_in_little_room(), ::testing::ExitedWithCode(0),
              "not enough address space for OpenBLAS");
}
#endif

}  // namespace
}  // namespace attn
