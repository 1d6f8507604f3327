// Speed of the kernels in lib/ops beside the gemm rate of the same run, which is the yardstick:
//   kernel_bench --benchmark_filter=Attend
// GFLOPS counts the work that is done (a causal mask halves it); each is the time an element takes.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/arena.h"
#include "core/rng.h"
#include "core/tensor.h"
#include "ops/activation.h"
#include "ops/adamw.h"
#include "ops/attend.h"
#include "ops/cross_entropy.h"
#include "ops/gemm.h"
#include "ops/norm.h"
#include "ops/softmax.h"

namespace attn {
namespace {

Tensor<float> random_numbers(Shape shape, std::uint32_t stream, double spread = 1.0) {
  Rng rng(1, RandomPurpose::kBenchmark, stream);
  Tensor<float> made(std::move(shape));
  for (float& value : made.values) value = static_cast<float>(rng.uniform(-spread, spread));
  return made;
}

void count_flops(benchmark::State& state, double flops_each) {
  state.counters["GFLOPS"] =
      benchmark::Counter(flops_each * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void count_elements(benchmark::State& state, Index each) {
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(each), benchmark::Counter::kIsIterationInvariantRate |
                                                        benchmark::Counter::kInvert);
}

void Gemm(benchmark::State& state, Transpose ta, Transpose tb, Index m, Index n, Index k) {
  const auto a = random_numbers(ta == Transpose::kYes ? Shape{k, m} : Shape{m, k}, 1);
  const auto b = random_numbers(tb == Transpose::kYes ? Shape{n, k} : Shape{k, n}, 2);
  Tensor<float> c({m, n});
  for (auto _ : state) {
    gemm<float>(ta, tb, 1, a.matrix(), b.matrix(), 0, c.matrix());
    benchmark::DoNotOptimize(c.data());
  }
  count_flops(state, 2.0 * static_cast<double>(m * n * k));
  state.SetLabel(blas_description());
}
BENCHMARK_CAPTURE(Gemm, peak, Transpose::kNo, Transpose::kNo, 1024, 1024, 1024);
BENCHMARK_CAPTURE(Gemm, scores, Transpose::kNo, Transpose::kYes, 96, 256, 64);
BENCHMARK_CAPTURE(Gemm, mix, Transpose::kNo, Transpose::kNo, 96, 64, 256);
BENCHMARK_CAPTURE(Gemm, keys_gradient, Transpose::kYes, Transpose::kNo, 256, 64, 128);
BENCHMARK_CAPTURE(Gemm, tiny_qkv, Transpose::kNo, Transpose::kYes, 192, 192, 64);
BENCHMARK_CAPTURE(Gemm, one_row, Transpose::kNo, Transpose::kYes, 1, 1536, 384);
BENCHMARK_CAPTURE(Gemm, two_rows, Transpose::kNo, Transpose::kYes, 2, 1536, 384);
BENCHMARK_CAPTURE(Gemm, three_rows, Transpose::kNo, Transpose::kYes, 3, 1536, 384);
BENCHMARK_CAPTURE(Gemm, four_rows, Transpose::kNo, Transpose::kYes, 4, 1536, 384);

// What a call of attend needs, for n queries on m keys.
struct AttendSetup {
  HeadShape shape;
  Tensor<float> q, k, v, out, d_out, d_q, d_k, d_v;
  std::vector<float> lse;
  AttendMask<float> mask;
  Arena arena;

  AttendSetup(const HeadShape& heads, Index n, Index m, bool causal)
      : shape(heads),
        q(random_numbers({n, heads.heads * heads.head_dim}, 1)),
        k(random_numbers({m, heads.kv_heads * heads.head_dim}, 2)),
        v(random_numbers({m, heads.kv_heads * heads.value_dim}, 3)),
        out({n, heads.heads * heads.value_dim}),
        d_out(random_numbers(out.shape, 4)),
        d_q(q.shape),
        d_k(k.shape),
        d_v(v.shape),
        lse(static_cast<std::size_t>(heads.heads * n)) {
    mask.causal = causal;
    mask.offset = m - n;
  }
  void forward() {
    const KvRun<float> run{k.matrix(), v.matrix()};
    attend<float>(shape, q.matrix(), std::span<const KvRun<float>>(&run, 1), mask, out.matrix(),
                  {.lse = lse.data()}, arena);
    benchmark::DoNotOptimize(out.data());
  }
  void backward() {
    attend_backward<float>(shape, q.matrix(), k.matrix(), v.matrix(), mask, out.matrix(),
                           lse.data(), d_out.matrix(), d_q.matrix(), d_k.matrix(), d_v.matrix(),
                           arena);
    benchmark::DoNotOptimize(d_q.data());
  }
};

// 4 n^2 d a head forward; a causal row i sees i + 1 keys.
double forward_flops(const HeadShape& shape, Index n, bool causal) {
  const double pairs = static_cast<double>(n) * static_cast<double>(causal ? n + 1 : 2 * n) / 2;
  return 4 * pairs * static_cast<double>(shape.heads * shape.head_dim);
}

void AttendForward(benchmark::State& state) {
  const bool causal = state.range(1) != 0;
  AttendSetup setup({8, 8, 64, 64}, state.range(0), state.range(0), causal);
  for (auto _ : state) setup.forward();
  count_flops(state, forward_flops(setup.shape, state.range(0), causal));
}
BENCHMARK(AttendForward)
    ->ArgNames({"n", "causal"})
    ->ArgsProduct({{128, 512, 2048, 4096}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

void AttendBackward(benchmark::State& state) {
  const bool causal = state.range(1) != 0;
  AttendSetup setup({8, 8, 64, 64}, state.range(0), state.range(0), causal);
  setup.forward();
  for (auto _ : state) setup.backward();
  count_flops(state, 2.5 * forward_flops(setup.shape, state.range(0), causal));
}
BENCHMARK(AttendBackward)
    ->ArgNames({"n", "causal"})
    ->ArgsProduct({{128, 512, 2048, 4096}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// With dropout of weights, as in training: to be held against the two above.
void AttendDropout(benchmark::State& state) {
  AttendSetup setup({8, 8, 64, 64}, state.range(0), state.range(0), true);
  setup.mask.dropout = dropout_mask(state.range(1) != 0 ? 0.2 : 0, 1, 1, 1, 1);
  for (auto _ : state) {
    setup.forward();
    setup.backward();
  }
  count_flops(state, 3.5 * forward_flops(setup.shape, state.range(0), true));
}
BENCHMARK(AttendDropout)
    ->ArgNames({"n", "dropout"})
    ->ArgsProduct({{64, 256, 1024}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

void Drop(benchmark::State& state) {
  auto x = random_numbers({192, state.range(0)}, 1);
  DropoutMask mask = dropout_mask(0.2, 1, 1, 1, 1);
  mask.factor = 1;  // the numbers are dropped again and again
  for (auto _ : state) {
    drop<float>(mask, x.matrix());
    benchmark::DoNotOptimize(x.data());
  }
  count_elements(state, x.size());
}
BENCHMARK(Drop)->ArgName("dim")->Arg(64)->Arg(384);

void AttendBoth(benchmark::State& state) {
  AttendSetup setup({8, 8, 64, 64}, state.range(0), state.range(0), true);
  for (auto _ : state) {
    setup.forward();
    setup.backward();
  }
  count_flops(state, 3.5 * forward_flops(setup.shape, state.range(0), true));
}
BENCHMARK(AttendBoth)->ArgName("n")->Arg(4096)->Unit(benchmark::kMillisecond);

// One sequence of the tutorial's recipe: 12 tokens, 4 heads of 16.
void AttendTinyForward(benchmark::State& state) {
  AttendSetup setup({4, 4, 16, 16}, state.range(0), state.range(0), true);
  for (auto _ : state) setup.forward();
}
BENCHMARK(AttendTinyForward)->ArgName("n")->Arg(12)->Arg(32)->Arg(64);

void AttendTinyBackward(benchmark::State& state) {
  AttendSetup setup({4, 4, 16, 16}, state.range(0), state.range(0), true);
  setup.forward();
  for (auto _ : state) setup.backward();
}
BENCHMARK(AttendTinyBackward)->ArgName("n")->Arg(12)->Arg(32)->Arg(64);

// One new token on a cache of m keys: bytes are what it must read of the cache.
void AttendDecode(benchmark::State& state) {
  const Index m = state.range(0);
  AttendSetup setup({8, state.range(1), 64, 64}, 1, m, true);
  for (auto _ : state) setup.forward();
  const Index bytes = 2 * m * setup.shape.kv_heads * 64 * 4;
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(AttendDecode)->ArgNames({"m", "kv_heads"})->ArgsProduct({{512, 4096, 65536}, {8, 2}});

void Activate(benchmark::State& state, Activation f) {
  const auto x = random_numbers({192, 256}, 1, 3.0);
  Tensor<float> y(x.shape);
  for (auto _ : state) {
    activate<float>(f, x.matrix(), y.matrix());
    benchmark::DoNotOptimize(y.data());
  }
  count_elements(state, y.size());
}
BENCHMARK_CAPTURE(Activate, gelu, Activation::kGelu);
BENCHMARK_CAPTURE(Activate, gelu_tanh, Activation::kGeluTanh);
BENCHMARK_CAPTURE(Activate, silu, Activation::kSilu);

void ActivateWithSlope(benchmark::State& state, Activation f) {
  const auto x = random_numbers({192, 256}, 1, 3.0);
  Tensor<float> y(x.shape), slope(x.shape);
  for (auto _ : state) {
    activate_with_slope<float>(f, x.matrix(), y.matrix(), slope.matrix());
    benchmark::DoNotOptimize(slope.data());
  }
  count_elements(state, slope.size());
}
BENCHMARK_CAPTURE(ActivateWithSlope, gelu, Activation::kGelu);
BENCHMARK_CAPTURE(ActivateWithSlope, gelu_tanh, Activation::kGeluTanh);

void LayerNorm(benchmark::State& state) {
  const Index dim = state.range(0);
  const auto x = random_numbers({192, dim}, 1);
  const auto weight = random_numbers({dim}, 2);
  Tensor<float> y(x.shape);
  std::vector<float> mean(192), rstd(192);
  for (auto _ : state) {
    layer_norm<float>(x.matrix(), weight.data(), weight.data(), 1e-5F, y.matrix(), mean.data(),
                      rstd.data());
    benchmark::DoNotOptimize(y.data());
  }
  count_elements(state, y.size());
}
BENCHMARK(LayerNorm)->ArgName("dim")->Arg(64)->Arg(384);

void LayerNormBackward(benchmark::State& state) {
  const Index dim = state.range(0);
  const auto x = random_numbers({192, dim}, 1);
  const auto weight = random_numbers({dim}, 2);
  Tensor<float> y(x.shape), d_x(x.shape), d_weight({dim}), d_bias({dim});
  std::vector<float> mean(192), rstd(192);
  layer_norm<float>(x.matrix(), weight.data(), weight.data(), 1e-5F, y.matrix(), mean.data(),
                    rstd.data());
  for (auto _ : state) {
    layer_norm_backward<float>(x.matrix(), weight.data(), mean.data(), rstd.data(), y.matrix(),
                               d_x.matrix(), d_weight.data(), d_bias.data());
    benchmark::DoNotOptimize(d_x.data());
  }
  count_elements(state, y.size());
}
BENCHMARK(LayerNormBackward)->ArgName("dim")->Arg(64)->Arg(384);

void Softmax(benchmark::State& state) {
  const auto x = random_numbers({64, state.range(0)}, 1, 4.0);
  auto y = x;
  for (auto _ : state) {
    y.values = x.values;
    softmax_rows<float>(y.matrix());
    benchmark::DoNotOptimize(y.data());
  }
  count_elements(state, y.size());
}
BENCHMARK(Softmax)->ArgName("cols")->Arg(12)->Arg(512);

void CrossEntropyOf(benchmark::State& state) {
  const auto logits = random_numbers({192, state.range(0)}, 1, 4.0);
  const std::vector<Index> targets(192, 3);
  Tensor<float> d_logits(logits.shape);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        cross_entropy<float>(logits.matrix(), targets, 1.0F, d_logits.matrix()));
  }
  count_elements(state, d_logits.size());
}
BENCHMARK(CrossEntropyOf)->ArgName("vocab")->Arg(10)->Arg(65)->Arg(1000);

void AdamW(benchmark::State& state) {
  const Index count = 101386;
  auto p = random_numbers({count}, 1);
  const auto gradient = random_numbers({count}, 2);
  std::vector<float> m(static_cast<std::size_t>(count)), v(m);
  Index step = 0;
  for (auto _ : state) {
    adamw_update<float>({}, ++step, gradient.data(), m.data(), v.data(), p.data(), count);
    benchmark::DoNotOptimize(p.data());
  }
  count_elements(state, count);
}
BENCHMARK(AdamW);

}  // namespace
}  // namespace attn

BENCHMARK_MAIN();
