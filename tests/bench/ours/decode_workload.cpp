#include <algorithm>
#include <vector>

#include "bench/stopwatch.h"
#include "cache_settings.h"
#include "core/error.h"
#include "core/rng.h"
#include "model/transformer.h"

namespace attn {
namespace {

// A prompt in one pass, then one token after another: the likeliest. With prompt_stays later
// samples go on behind the first one's prompt, and only they cost time.
class Decode : public Workload {
 public:
  Decode(const ModelConfig& config, const CacheSettings& cache, Index prompt, Index new_tokens,
         bool prompt_stays, int threads)
      : model_(config),
        cached_(cache.cached),
        prompt_stays_(prompt_stays),
        cache_(model_.make_cache(1, prompt + new_tokens, 0, cache.layout)),
        work_(threads),
        prompt_(prompt),
        new_tokens_(new_tokens) {
    model_.params().initialise(1);
    Rng rng(1, RandomPurpose::kBenchmark);
    for (Index i = 0; i < prompt; ++i) ids_.push_back(rng.below(config.vocab_size));
  }

  Seconds sample() override {
    Seconds spent;
    if (prompt_stays_ && cache_.length() > 0) {
      ids_.resize(static_cast<std::size_t>(prompt_ + 1));
      cache_.truncate(prompt_);
    } else {
      ids_.resize(static_cast<std::size_t>(prompt_));
      cache_.truncate(0);
      const Stopwatch prefill;
      ids_.push_back(likeliest(0));
      spent["prefill"] = static_cast<double>(prefill.elapsed().wall_ns) * 1e-9;
    }
    const Stopwatch decode;
    while (static_cast<Index>(ids_.size()) < prompt_ + new_tokens_) {
      const auto all = static_cast<Index>(ids_.size());
      ids_.push_back(likeliest(cached_ ? all - 1 : 0));
    }
    const auto decode_ns = static_cast<double>(decode.elapsed().wall_ns);
    // The first new token comes out of the prompt's pass.
    spent["token"] = decode_ns * 1e-9 / static_cast<double>(new_tokens_ - 1);
    return spent;
  }

 private:
  // The token that follows all, of which those from `first` on go through the model.
  Index likeliest(Index first) {
    const Arena::Scope scope(work_.arena());
    TokenInput input;
    input.ids = std::span<const Index>(ids_).subspan(static_cast<std::size_t>(first));
    input.rows.seq_len = static_cast<Index>(input.ids.size());
    const Matrix<float> logits = model_.forward(
        model_.pass(work_), input, cached_ ? &cache_ : nullptr, nullptr, LogitRows::kLast);
    return std::max_element(logits.row(0), logits.row(0) + logits.cols()) - logits.row(0);
  }

  Transformer<float> model_;
  bool cached_, prompt_stays_;
  KvCache<float> cache_;
  Workspace work_;
  Index prompt_, new_tokens_;
  std::vector<Index> ids_;
};

}  // namespace

std::unique_ptr<Workload> decode_workload(Settings& settings) {
  ModelConfig config;
  config.vocab_size = settings.number("vocab", 65);
  config.dim = settings.number("dim", 384);
  config.heads = settings.number("heads", 6);
  config.depth = settings.number("depth", 6);
  const CacheSettings cache = cache_settings(settings);
  const bool prompt_stays = settings.number("prompt_stays", 0) != 0;
  if (prompt_stays && !cache.cached) throw UsageError("a prompt stays in a cache");
  const Index prompt = settings.number("prompt", 256);
  const Index new_tokens = settings.number("new_tokens", 256);
  return std::make_unique<Decode>(config, cache, prompt, new_tokens, prompt_stays,
                                  static_cast<int>(settings.number("threads", 1)));
}

}  // namespace attn
