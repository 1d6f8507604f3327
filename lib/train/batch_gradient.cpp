#include "train/batch_gradient.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/parallel.h"
#include "ops/vector.h"

namespace attn {
namespace {

// Lets the chunks through in order: the worker that holds chunk i waits until all before it are
// done. Chunks are handed out in order, so the one whose turn it is always runs.
class Turnstile {
 public:
  // False when a worker failed: then nothing further matters.
  bool wait_for(Index turn) {
    std::unique_lock<std::mutex> lock(guard_);
    moved_.wait(lock, [&] { return next_ == turn || failed_; });
    return !failed_;
  }
  void pass() {
    const std::lock_guard<std::mutex> lock(guard_);
    ++next_;
    moved_.notify_all();
  }
  void fail() {
    const std::lock_guard<std::mutex> lock(guard_);
    failed_ = true;
    moved_.notify_all();
  }

 private:
  std::mutex guard_;
  std::condition_variable moved_;
  Index next_ = 0;
  bool failed_ = false;
};

// The sequences of one chunk.
struct Chunk {
  Index batch = 0;
  TokenInput input;
  std::span<const Index> targets;
  std::span<const std::uint8_t> judged;  // empty: all

  bool judges(Index row) const { return judged.empty() || judged[static_cast<std::size_t>(row)]; }
};

class Chunks {
 public:
  Chunks(const ModelConfig& config, const Batch& batch)
      : batch_(batch), size_(chunk_sequences(config, batch.seq_len)) {
    require_shape(static_cast<Index>(batch.ids.size()) == batch.batch * batch.seq_len &&
                      batch.targets.size() == batch.ids.size() && !batch.ids.empty(),
                  "batch gradient: shape of the batch");
  }
  Index count() const { return (batch_.batch + size_ - 1) / size_; }
  Chunk at(Index index) const {
    const Index first = index * size_;
    Chunk chunk;
    chunk.batch = std::min(size_, batch_.batch - first);
    const auto from = static_cast<std::size_t>(first * batch_.seq_len);
    const auto tokens = static_cast<std::size_t>(chunk.batch * batch_.seq_len);
    chunk.input.ids = std::span<const Index>(batch_.ids).subspan(from, tokens);
    chunk.input.rows = {chunk.batch, batch_.seq_len, nullptr};
    chunk.targets = std::span<const Index>(batch_.targets).subspan(from, tokens);
    if (!batch_.judged.empty()) {
      chunk.judged = std::span<const std::uint8_t>(batch_.judged).subspan(from, tokens);
    }
    return chunk;
  }

 private:
  const Batch& batch_;
  Index size_;
};

Index counted_targets(const Batch& batch) {
  return static_cast<Index>(std::count_if(batch.targets.begin(), batch.targets.end(),
                                          [](Index target) { return target != kIgnoreIndex; }));
}

}  // namespace

template <class T>
struct BatchGradient<T>::Worker {
  Workspace work;
  TransformerTape<T> tape;
  std::vector<T> gradients;  // of one chunk
};

template <class T>
BatchGradient<T>::BatchGradient(const Transformer<T>& model, int threads)
    : model_(model), threads_(std::max(threads, 1)) {
  for (int i = 0; i < threads_; ++i) workers_.push_back(std::make_unique<Worker>());
}

template <class T>
BatchGradient<T>::~BatchGradient() = default;

template <class T>
double BatchGradient<T>::compute(const Batch& batch, T* gradients) {
  const Chunks chunks(model_.config(), batch);
  const Index parameters = model_.params().size();
  const Index counted = counted_targets(batch);
  require_shape(counted > 0, "batch gradient: no target counts");
  const T grad_scale = T{1} / static_cast<T>(counted);
  std::fill_n(gradients, parameters, T{0});

  double loss_sum = 0;  // both sums grow in the order of the chunks
  Turnstile turnstile;
  std::atomic<Index> next{0};
  // False when another chunk failed.
  const auto run_chunk = [&](Worker& worker, Index index) {
    worker.gradients.assign(static_cast<std::size_t>(parameters), T{0});
    Arena& arena = worker.work.arena();
    const Arena::Scope scope(arena);
    const Chunk chunk = chunks.at(index);
    const Matrix<T> logits =
        model_.forward(model_.pass(worker.work), chunk.input, nullptr, &worker.tape);
    const CrossEntropy entropy = cross_entropy<T>(logits, chunk.targets, grad_scale, logits);
    model_.backward({model_.params().values(), worker.gradients.data(), arena}, worker.tape,
                    logits);
    if (!turnstile.wait_for(index)) return false;
    add<T>(worker.gradients.data(), gradients, parameters);
    loss_sum += entropy.loss_sum;
    turnstile.pass();
    return true;
  };
  const Index workers = std::min<Index>(threads_, chunks.count());
  parallel_for(workers, threads_, [&](Index which, int) {
    Worker& worker = *workers_[static_cast<std::size_t>(which)];
    try {
      for (Index index = next++; index < chunks.count(); index = next++) {
        if (!run_chunk(worker, index)) return;
      }
    } catch (...) {
      turnstile.fail();
      throw;
    }
  });
  return loss_sum / static_cast<double>(counted);
}

template <class T>
Evaluation BatchGradient<T>::evaluate(const Batch& batch) {
  const Chunks chunks(model_.config(), batch);
  struct Part {
    CrossEntropy entropy;
    Index judged = 0;
    Index right = 0;
  };
  std::vector<Part> parts(static_cast<std::size_t>(chunks.count()));
  parallel_for(chunks.count(), threads_, [&](Index index, int which) {
    Worker& worker = *workers_[static_cast<std::size_t>(which)];
    const Arena::Scope scope(worker.work.arena());
    const Chunk chunk = chunks.at(index);
    const Matrix<T> logits =
        model_.forward(model_.pass(worker.work), chunk.input, nullptr, nullptr);
    Part& part = parts[static_cast<std::size_t>(index)];
    part.entropy = cross_entropy<T>(logits, chunk.targets, T{0}, Matrix<T>());
    for (Index row = 0; row < logits.rows(); ++row) {
      const Index target = chunk.targets[static_cast<std::size_t>(row)];
      if (target == kIgnoreIndex || !chunk.judges(row)) continue;
      const T* begin = logits.row(row);
      part.judged += 1;
      part.right += std::max_element(begin, begin + logits.cols()) - begin == target ? 1 : 0;
    }
  });
  Evaluation sum;
  Index judged = 0;
  Index right = 0;
  double loss_sum = 0;
  for (const Part& part : parts) {
    loss_sum += part.entropy.loss_sum;
    sum.counted += part.entropy.counted;
    judged += part.judged;
    right += part.right;
  }
  if (sum.counted > 0) sum.loss = loss_sum / static_cast<double>(sum.counted);
  if (judged > 0) sum.accuracy = static_cast<double>(right) / static_cast<double>(judged);
  return sum;
}

template class BatchGradient<float>;
template class BatchGradient<double>;

}  // namespace attn
