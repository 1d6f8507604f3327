#include "train/batch_gradient.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/ceil_div.h"
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
  Index first = 0;  // sequence, within the batch
  TokenInput input;
  std::span<const Index> targets;
  std::span<const std::uint8_t> judged;  // empty: all

  bool judges(Index row) const { return judged.empty() || judged[static_cast<std::size_t>(row)]; }
};

void check(const Batch& batch) {
  const auto holds = [](const auto& part, Index rows, bool may_be_empty) {
    return static_cast<Index>(part.size()) == rows || (may_be_empty && part.empty());
  };
  const Index rows = batch.batch * batch.seq_len;
  const Index source_rows = batch.batch * batch.source_len;
  require_shape(rows > 0 && holds(batch.ids, rows, false) && holds(batch.targets, rows, false) &&
                    holds(batch.key_mask, rows, true) && holds(batch.judged, rows, true) &&
                    holds(batch.source, source_rows, false) &&
                    holds(batch.source_mask, source_rows, true),
                "batch gradient: shape of the batch");
}

// made = the first `columns` tokens of every sequence; in the memory that it has.
void first_columns(const Batch& batch, Index columns, Batch& made) {
  made.batch = batch.batch;
  made.seq_len = columns;
  made.source_len = batch.source_len;
  made.source = batch.source;
  made.source_mask = batch.source_mask;
  const auto cut = [&](const auto& from, auto& to) {
    to.clear();
    for (auto row = from.begin(); row != from.end(); row += batch.seq_len) {
      to.insert(to.end(), row, row + columns);
    }
  };
  cut(batch.ids, made.ids);
  cut(batch.targets, made.targets);
  cut(batch.key_mask, made.key_mask);
  cut(batch.judged, made.judged);
}

// What follows the last target that counts has no part in a decoder's loss, as the last token of
// every sequence, whose successor is not known: it need not be computed. The batch itself, or
// `shorter`, made without that.
const Batch& without_idle_end(const ModelConfig& config, const Batch& batch, Batch& shorter) {
  check(batch);
  if (config.arch == Arch::kEncoder) return batch;
  Index columns = 1;
  for (Index i = 0; i < batch.batch * batch.seq_len; ++i) {
    const bool counts = batch.targets[static_cast<std::size_t>(i)] != kIgnoreIndex;
    if (counts) columns = std::max(columns, i % batch.seq_len + 1);
  }
  if (columns == batch.seq_len) return batch;
  first_columns(batch, columns, shorter);
  return shorter;
}

class Chunks {
 public:
  Chunks(const ModelConfig& config, const Batch& batch, Batch& shorter)
      : batch_(without_idle_end(config, batch, shorter)),
        size_(chunk_sequences(config, batch.seq_len, batch.source_len)) {}
  Index count() const { return ceil_div(batch_.batch, size_); }
  Chunk at(Index index) const {
    Chunk chunk;
    chunk.first = index * size_;
    const Index sequences = std::min(size_, batch_.batch - chunk.first);
    // The chunk's part of something with so many rows a sequence.
    const auto part = [&](const auto& all, Index each) {
      return std::span(all).subspan(static_cast<std::size_t>(chunk.first * each),
                                    static_cast<std::size_t>(sequences * each));
    };
    const auto mask = [&](const std::vector<std::uint8_t>& all, Index each) {
      return all.empty() ? nullptr : part(all, each).data();
    };
    const Index tokens = batch_.seq_len;
    chunk.input.ids = part(batch_.ids, tokens);
    chunk.input.rows = {sequences, tokens, mask(batch_.key_mask, tokens)};
    if (batch_.source_len > 0) {
      const Index source_tokens = batch_.source_len;
      chunk.input.source = part(batch_.source, source_tokens);
      chunk.input.source_rows = {sequences, source_tokens, mask(batch_.source_mask, source_tokens)};
    }
    chunk.targets = part(batch_.targets, tokens);
    if (!batch_.judged.empty()) chunk.judged = part(batch_.judged, tokens);
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

// Sums over the sequences of a chunk, or of several.
struct Score {
  double loss_sum = 0;
  Index counted = 0;
  Index judged = 0;     // targets
  Index right = 0;      // of those
  Index sequences = 0;  // with a judged target
  Index exact = 0;      // of those, right in all

  void add(const Score& other) {
    loss_sum += other.loss_sum;
    counted += other.counted;
    judged += other.judged;
    right += other.right;
    sequences += other.sequences;
    exact += other.exact;
  }
};

template <class T>
Score score(const Chunk& chunk, In<T> logits) {
  const CrossEntropy entropy = cross_entropy<T>(logits, chunk.targets, T{0}, Matrix<T>());
  Score sum;
  sum.loss_sum = entropy.loss_sum;
  sum.counted = entropy.counted;
  const Index tokens = chunk.input.rows.seq_len;
  for (Index first = 0; first < logits.rows(); first += tokens) {
    Index judged = 0;
    Index right = 0;
    for (Index row = first; row < first + tokens; ++row) {
      const Index target = chunk.targets[static_cast<std::size_t>(row)];
      if (target == kIgnoreIndex || !chunk.judges(row)) continue;
      const T* begin = logits.row(row);
      judged += 1;
      right += std::max_element(begin, begin + logits.cols()) - begin == target ? 1 : 0;
    }
    sum.judged += judged;
    sum.right += right;
    sum.sequences += judged > 0 ? 1 : 0;
    sum.exact += judged > 0 && right == judged ? 1 : 0;
  }
  return sum;
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
double BatchGradient<T>::compute(const Batch& batch, T* gradients, const GradientOptions& options) {
  const Chunks chunks(model_.config(), batch, shorter_);
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
    DropoutStream dropout = options.dropout;
    dropout.first_sequence += chunk.first;
    Pass<T> pass = model_.pass(worker.work);
    if (dropout.rate > 0) pass.dropout = &dropout;
    const Matrix<T> logits = model_.forward(pass, chunk.input, nullptr, &worker.tape);
    const CrossEntropy entropy =
        cross_entropy<T>(logits, chunk.targets, grad_scale, logits, options.label_smoothing);
    model_.backward({model_.params().values(), worker.gradients.data(), arena, pass.dropout},
                    worker.tape, logits);
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
  const Chunks chunks(model_.config(), batch, shorter_);
  std::vector<Score> scores(static_cast<std::size_t>(chunks.count()));
  parallel_for(chunks.count(), threads_, [&](Index index, int which) {
    Worker& worker = *workers_[static_cast<std::size_t>(which)];
    const Arena::Scope scope(worker.work.arena());
    const Chunk chunk = chunks.at(index);
    const Matrix<T> logits =
        model_.forward(model_.pass(worker.work), chunk.input, nullptr, nullptr);
    scores[static_cast<std::size_t>(index)] = score<T>(chunk, logits);
  });
  Score sum;
  for (const Score& score : scores) sum.add(score);
  const auto share = [](Index part, Index all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
  };
  Evaluation found;
  found.counted = sum.counted;
  if (sum.counted > 0) found.loss = sum.loss_sum / static_cast<double>(sum.counted);
  found.accuracy = share(sum.right, sum.judged);
  found.exact = share(sum.exact, sum.sequences);
  return found;
}

template class BatchGradient<float>;
template class BatchGradient<double>;

}  // namespace attn
