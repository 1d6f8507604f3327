#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// Words "key=value" of a command line, each read once at most by whoever knows it.
class Settings {
 public:
  /// Throws UsageError for a word without '='.
  explicit Settings(const std::vector<std::string>& words);

  /// Throws UsageError for what is no number.
  Index number(std::string_view key, Index otherwise);
  std::string text(std::string_view key, std::string_view otherwise);
  /// Throws UsageError that names a key nobody asked for.
  void require_all_read() const;

 private:
  std::map<std::string, std::string, std::less<>> left_;
};

/// Seconds by what they were spent on ("step", "prefill", "decode").
using Seconds = std::map<std::string, double>;

/// Something that is timed again and again in one process. What it needs is made by the
/// constructor, which the caller has warmed up by one sample.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Seconds sample() = 0;
};

/// One update of a model: dim, heads, depth, vocab, batch, seq_len, threads; task=progressions or
/// random.
std::unique_ptr<Workload> training_workload(Settings& settings);

/// The attention kernel, a head a task: n, heads, head_dim, causal, backward, threads.
std::unique_ptr<Workload> attention_workload(Settings& settings);

/// One attention layer that reads tokens one after another: dim, heads, kv_heads, tokens,
/// cache=contiguous, paged or none, page_size, scattered, k_type, v_type, threads; rows=last or
/// all, which of those in a pass ask.
std::unique_ptr<Workload> layer_workload(Settings& settings);

/// A whole decoder, greedily: dim, heads, depth, vocab, prompt, new_tokens, and a layer's cache;
/// prompt_stays=1 reads the prompt once, so that later samples are of the tokens behind it alone.
std::unique_ptr<Workload> decode_workload(Settings& settings);

}  // namespace attn
