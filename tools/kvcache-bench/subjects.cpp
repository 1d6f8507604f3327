#include "kvcache-bench/subjects.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/layer_subject.h"
#include "bench/model_subject.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/hdf5_reader.h"
#include "io/provenance.h"
#include "model/checkpoint.h"

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

std::vector<std::unique_ptr<DecodeSubject>> make_subjects(const BenchOptions& o, Index capacity,
                                                          std::string& history) {
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const int threads = static_cast<int>(o.threads);
  if (!o.input.empty()) {
    ReadLimits limits;
    limits.max_bytes = o.max_bytes;
    const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
    history = read_history(reader);
    const ModelConfig config = read_model_config(reader).completed();
    if (config.arch != Arch::kDecoder) {
      throw DataError(fmt::format("{}: only a decoder can decode, this is of arch {}",
                                  reader.name(), enum_name(config.arch)));
    }
    require_memory("decoding", model_subject_bytes(config, capacity));
    subjects.push_back(std::make_unique<ModelSubject>(read_model<float>(reader), capacity, threads,
                                                      seed, o.page_size));
    return subjects;
  }
  double bytes = 0;
  LayerShape shape = o.layer;
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    bytes += layer_subject_bytes(shape, capacity);
  }
  require_memory("decoding", bytes);
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    subjects.push_back(std::make_unique<LayerSubject>(shape, capacity, threads, seed, o.page_size));
  }
  return subjects;
}

}  // namespace attn
