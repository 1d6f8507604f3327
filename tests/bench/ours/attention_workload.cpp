#include <deque>
#include <vector>

#include "bench/stopwatch.h"
#include "core/parallel.h"
#include "core/rng.h"
#include "core/tensor.h"
#include "ops/attend.h"
#include "workload.h"

namespace attn {
namespace {

Tensor<float> random_numbers(Index rows, Index cols, std::uint32_t stream) {
  Rng rng(1, RandomPurpose::kBenchmark, stream);
  Tensor<float> made({rows, cols});
  for (float& value : made.values) value = static_cast<float>(rng.normal());
  return made;
}

// softmax(q k^T / sqrt(d)) v of several heads, which threads share; with the gradients by q, k and
// v where they are wanted.
class AttentionKernel : public Workload {
 public:
  AttentionKernel(const HeadShape& shape, Index n, bool causal, bool backward, int threads)
      : shape_(shape),
        backward_(backward),
        threads_(threads),
        q_(random_numbers(n, width(), 1)),
        k_(random_numbers(n, width(), 2)),
        v_(random_numbers(n, width(), 3)),
        out_({n, width()}),
        lse_(static_cast<std::size_t>(n * shape.heads)),
        arenas_(static_cast<std::size_t>(threads)) {
    mask_.causal = causal;
    if (!backward) return;
    d_out_ = random_numbers(n, width(), 4);
    for (Tensor<float>* gradient : {&d_q_, &d_k_, &d_v_}) *gradient = Tensor<float>({n, width()});
  }

  Seconds sample() override {
    const Stopwatch watch;
    parallel_for(shape_.heads, threads_, [&](Index head, int worker) {
      run(head, arenas_[static_cast<std::size_t>(worker)]);
    });
    return {{"attention", static_cast<double>(watch.elapsed().wall_ns) * 1e-9}};
  }

 private:
  Index width() const { return shape_.heads * shape_.head_dim; }
  Matrix<float> of_head(Tensor<float>& x, Index head) const {
    return x.matrix().col_block(head * shape_.head_dim, shape_.head_dim);
  }
  void run(Index head, Arena& arena) {
    const HeadShape one{1, 1, shape_.head_dim, shape_.head_dim};
    float* const lse = lse_.data() + head * q_.matrix().rows();
    const KvRun<float> kv{of_head(k_, head), of_head(v_, head)};
    attend<float>(one, of_head(q_, head), {&kv, 1}, mask_, of_head(out_, head), {.lse = lse},
                  arena);
    if (!backward_) return;
    attend_backward<float>(one, of_head(q_, head), kv.k, kv.v, mask_, of_head(out_, head), lse,
                           of_head(d_out_, head), of_head(d_q_, head), of_head(d_k_, head),
                           of_head(d_v_, head), arena);
  }

  HeadShape shape_;
  bool backward_;
  int threads_;
  Tensor<float> q_, k_, v_, out_, d_out_, d_q_, d_k_, d_v_;
  std::vector<float> lse_;
  std::deque<Arena> arenas_;
  AttendMask<float> mask_;
};

}  // namespace

std::unique_ptr<Workload> attention_workload(Settings& settings) {
  HeadShape shape;
  shape.heads = shape.kv_heads = settings.number("heads", 8);
  shape.head_dim = shape.value_dim = settings.number("head_dim", 64);
  const Index n = settings.number("n", 2048);
  const bool causal = settings.number("causal", 1) != 0;
  const bool backward = settings.number("backward", 0) != 0;
  const auto threads = static_cast<int>(settings.number("threads", 1));
  return std::make_unique<AttentionKernel>(shape, n, causal, backward, threads);
}

}  // namespace attn
