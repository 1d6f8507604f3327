#include "model/scoring.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>

#include "core/ceil_div.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "model/token_checks.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

// Rows of one pass: a unit of work for a thread, fixed because a row's bits depend on the rows it
// was computed with. Of a large vocabulary, fewer: its logits are the most that a pass holds.
constexpr Index kPassRows = 512;
constexpr Index kPassLogits = Index{1} << 24;

Index windows_of_pass(Index window, Index vocab_size) {
  const Index rows = std::min(kPassRows, kPassLogits / vocab_size);
  return std::max(Index{1}, rows / window);
}

}  // namespace

double Score::loss() const {
  return loss_sum / static_cast<double>(targets);
}

double Score::perplexity() const {
  return std::exp(loss());
}

double Score::bits_per(Index units) const {
  return loss_sum / std::log(2.0) / static_cast<double>(units);
}

Index usual_window(const ModelConfig& config) {
  constexpr Index kWindow = 512;
  const Index usual = config.seq_len > 0         ? config.seq_len
                      : config.max_positions > 0 ? config.max_positions
                                                 : kWindow;
  // A stretched model may have been trained on more than its cache could follow.
  return std::min(usual, config.longest_sequence().value_or(usual));
}

std::span<const Index> last_share(std::span<const Index> ids, double share) {
  return ids.subspan(static_cast<std::size_t>(static_cast<double>(ids.size()) * (1 - share)));
}

Score cut_into_windows(const ModelConfig& config, std::span<const Index> ids, Index window) {
  require_shape(config.arch == Arch::kDecoder, "score: the model is no decoder");
  check_tokens(ids, config.vocab_size, "text");
  if (window < 1)
    throw UsageError(fmt::format("--score-window must be at least 1: got {}", window));
  if (ids.size() < 2) {
    throw UsageError("the text has 1 token: there is none to foretell from it");
  }
  Score score;
  score.window = std::min(window, static_cast<Index>(ids.size()) - 1);
  const auto longest = config.longest_sequence();
  if (longest && score.window > *longest) {
    throw UsageError(fmt::format("{}, a window of {} needs as many",
                                 config.longest_sequence_reason(), score.window));
  }
  score.windows = (static_cast<Index>(ids.size()) - 1) / score.window;
  score.targets = score.windows * score.window;
  return score;
}

template <class T>
Score score_tokens(const Transformer<T>& model, std::span<const Index> ids, Index window,
                   int threads, const std::function<void(Index)>& progress) {
  const ModelConfig& config = model.config();
  Score score = cut_into_windows(config, ids, window);
  const Index each = windows_of_pass(score.window, config.vocab_size);
  const Index passes = ceil_div(score.windows, each);
  // The logits are the most that a worker holds, and of long windows more than there may be.
  require_memory(fmt::format("a score in windows of {} tokens", score.window),
                 static_cast<double>(std::min<Index>(passes, std::max(threads, 1))) *
                     static_cast<double>(each * score.window) *
                     static_cast<double>(config.vocab_size) * sizeof(T));
  std::vector<double> losses(static_cast<std::size_t>(passes));
  std::deque<Workspace> workers;
  for (int i = 0; i < std::max(threads, 1); ++i) workers.emplace_back(1);
  std::mutex telling;
  Index over = 0;
  parallel_for(passes, std::max(threads, 1), [&](Index i, int worker) {
    Workspace& work = workers[static_cast<std::size_t>(worker)];
    const Arena::Scope scope(work.arena());
    const Index batch = std::min(each, score.windows - i * each);
    const auto first = static_cast<std::size_t>(i * each * score.window);
    const auto count = static_cast<std::size_t>(batch * score.window);
    TokenInput input;
    input.ids = ids.subspan(first, count);
    input.rows = {batch, score.window, nullptr};
    const Matrix<T> logits = model.forward(model.pass(work), input, nullptr, nullptr);
    losses[static_cast<std::size_t>(i)] =
        cross_entropy<T>(logits, ids.subspan(first + 1, count), T{0}, {}).loss_sum;
    if (!progress) return;
    const std::lock_guard lock(telling);
    over += batch;
    progress(over);
  });
  for (const double loss : losses) score.loss_sum += loss;
  if (!std::isfinite(score.loss_sum)) {
    throw DataError(
        fmt::format("the loss is {}: the model's logits are not finite numbers", score.loss_sum));
  }
  return score;
}

template Score score_tokens<float>(const Transformer<float>&, std::span<const Index>, Index, int,
                                   const std::function<void(Index)>&);
template Score score_tokens<double>(const Transformer<double>&, std::span<const Index>, Index, int,
                                    const std::function<void(Index)>&);

}  // namespace attn
