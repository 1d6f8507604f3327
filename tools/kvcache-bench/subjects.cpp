#include "kvcache-bench/subjects.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/layer_subject.h"
#include "bench/model_subject.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/hdf5_reader.h"
#include "io/provenance.h"
#include "model/checkpoint.h"
#include "model/presets.h"

namespace attn {

std::vector<DecodeWork> work_of(const BenchOptions& o) {
  std::vector<DecodeWork> work;
  if (!o.prompt_apart) {
    for (const Index n : o.tokens) work.push_back({0, n});
    return work;
  }
  for (const Index prompt : o.prompt) {
    for (const Index new_tokens : o.new_tokens) work.push_back({prompt, new_tokens});
  }
  return work;
}

Index capacity_of(const std::vector<DecodeWork>& work) {
  Index capacity = 1;
  for (const DecodeWork& one : work) {
    if (!checked_add(one.prompt, one.new_tokens))
      throw UsageError("--prompt and --new-tokens together leave 63 bits");
    capacity = std::max(capacity, one.total());
  }
  return capacity;
}

ModelConfig shaped_model(const BenchOptions& o, Index kv_heads, Index longest) {
  ModelNeeds needs;
  needs.dim = o.layer.dim;
  needs.vocab_size = o.shape.vocab_size.value_or(256);
  needs.seq_len = std::max(longest, o.model.empty() ? 0 : model_preset(o.model).config.seq_len);
  if (const std::optional<Index> most = o.shape.max_positions) {
    if (longest > *most) {
      throw UsageError(fmt::format("{} are more than the {} of the model",
                                   counted(longest, "token"), counted(*most, "position")));
    }
    needs.seq_len = std::min(needs.seq_len, *most);
  }
  ModelOptions shape = o.shape;
  shape.kv_heads = kv_heads;
  ModelConfig config = model_config(shape, needs);
  config.window = o.window.value_or(0);
  return config;
}

ModelConfig decoder_config(const Hdf5Reader& checkpoint) {
  ModelConfig config = read_model_config(checkpoint).completed();
  if (config.arch != Arch::kDecoder) {
    throw DataError(fmt::format("{}: only a decoder can decode, this is of arch {}",
                                checkpoint.name(), enum_name(config.arch)));
  }
  return config;
}

std::unique_ptr<Transformer<float>> windowed(std::unique_ptr<Transformer<float>> model,
                                             Index window) {
  ModelConfig config = model->config();
  config.window = window;
  auto other = std::make_unique<Transformer<float>>(config);
  std::copy_n(model->params().values(), model->params().size(), other->params().values());
  return other;
}

namespace {

using Subjects = std::vector<std::unique_ptr<DecodeSubject>>;

// A time and two sums of operations.
constexpr double kStepBytes = sizeof(std::int64_t) + 2 * sizeof(double);
// Names and places of a layer's parameters, where it only counts.
constexpr double kCountedLayerBytes = 4096;

// How subjects are made, whichever they are.
struct Making {
  Index capacity = 1;
  int threads = 1;
  std::uint64_t seed = 0;
  Index page_size = kPageRows;
  Index caches = 1;     // side by side
  bool counts = false;  // are all that is wanted
};

std::unique_ptr<DecodeSubject> counted_model(const ModelConfig& config, const Making& how) {
  require_memory("counting", kCountedLayerBytes * static_cast<double>(config.depth));
  return std::make_unique<ModelSubject>(config, how.capacity, how.page_size);
}

Subjects checkpoint_subject(const BenchOptions& o, const Making& how, std::string& history) {
  ReadLimits limits;
  limits.max_bytes = o.max_bytes;
  const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
  history = read_history(reader);
  ModelConfig config = decoder_config(reader);
  config.window = o.window.value_or(0);
  Subjects subjects;
  if (how.counts) {
    subjects.push_back(counted_model(config, how));
    return subjects;
  }
  require_memory("decoding", model_subject_bytes(config, how.capacity, how.caches));
  std::unique_ptr<Transformer<float>> model = read_model<float>(reader);
  if (o.window) model = windowed(std::move(model), *o.window);
  subjects.push_back(std::make_unique<ModelSubject>(std::move(model), how.capacity, how.threads,
                                                    how.seed, how.page_size));
  return subjects;
}

Subjects model_subjects(const BenchOptions& o, const Making& how) {
  std::vector<ModelConfig> configs;
  double bytes = 0;
  for (const Index kv_heads : o.kv_heads) {
    ModelConfig config = shaped_model(o, kv_heads, how.capacity);
    bytes += model_subject_bytes(config, how.capacity, how.caches) +
             sizeof(float) * static_cast<double>(count_parameters(config).total);
    configs.push_back(std::move(config));
  }
  if (!how.counts) require_memory("decoding", bytes);
  Subjects subjects;
  for (const ModelConfig& config : configs) {
    if (how.counts) {
      subjects.push_back(counted_model(config, how));
      continue;
    }
    auto model = std::make_unique<Transformer<float>>(config);
    model->params().initialise(how.seed);
    subjects.push_back(std::make_unique<ModelSubject>(std::move(model), how.capacity, how.threads,
                                                      how.seed, how.page_size));
  }
  return subjects;
}

Subjects layer_subjects(const BenchOptions& o, const Making& how) {
  double bytes = 0;
  LayerShape shape = o.layer;
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    bytes += layer_subject_bytes(shape, how.capacity, how.caches);
  }
  if (!how.counts) require_memory("decoding", bytes);
  Subjects subjects;
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    subjects.push_back(
        std::make_unique<LayerSubject>(shape, how.capacity, how.threads, how.seed, how.page_size,
                                       how.counts ? Arithmetic::kNone : Arithmetic::kAll));
  }
  return subjects;
}

}  // namespace

Subjects make_subjects(const BenchOptions& o, Index capacity, std::string& history) {
  Making how;
  how.capacity = capacity;
  how.counts = o.counts_only && !o.verify;
  how.threads = static_cast<int>(o.threads);
  how.seed = static_cast<std::uint64_t>(o.seed);
  how.page_size = o.page_size;
  how.caches = static_cast<Index>(ways_of(o).size());
  // What is known of each step while all are counted.
  if (how.counts) require_memory("counting", kStepBytes * static_cast<double>(capacity));
  if (!o.input.empty()) return checkpoint_subject(o, how, history);
  return o.random_model() ? model_subjects(o, how) : layer_subjects(o, how);
}

}  // namespace attn
