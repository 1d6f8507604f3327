#include "model/presets.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

ModelPreset tutorial() {
  ModelPreset preset{"tutorial", "the tutorial's decoder, for progressions modulo 10", {}};
  preset.config.seq_len = 12;
  return preset;
}

// The base model of Vaswani et al. 2017 (arXiv:1706.03762), table 3. There the two stacks and the
// head share one table of tokens, which is scaled by sqrt(dim); here each stack has its own, as it
// is, and the head shares the decoder's.
ModelPreset original() {
  ModelPreset preset{"original", "the base model of Vaswani et al. 2017, both stacks", {}};
  ModelConfig& c = preset.config;
  c.arch = Arch::kEncoderDecoder;
  c.vocab_size = 37000;
  c.source_vocab_size = 37000;
  c.dim = 512;
  c.heads = 8;
  c.depth = 6;
  c.encoder_depth = 6;
  c.mlp_hidden = 2048;
  c.norm = NormPlacement::kPost;
  c.position = Position::kSinusoidal;
  c.activation = MlpActivation::kRelu;
  c.tie_embeddings = true;
  c.seq_len = 128;
  return preset;
}

// What nanoGPT's two recipes for Shakespeare have in common; 65 characters occur in that text.
ModelConfig nanogpt(Index depth, Index heads, Index dim, Index seq_len) {
  ModelConfig c;
  c.vocab_size = 65;
  c.depth = depth;
  c.heads = heads;
  c.dim = dim;
  c.seq_len = seq_len;
  c.position = Position::kLearned;
  c.tie_embeddings = true;
  c.bias = false;
  c.norm_bias = false;
  return c;
}

// Radford et al. 2019, the smallest of the four.
ModelPreset gpt2() {
  ModelPreset preset{"gpt2", "GPT-2 small, 124 million parameters", {}};
  ModelConfig& c = preset.config;
  c.vocab_size = 50257;
  c.dim = 768;
  c.heads = 12;
  c.depth = 12;
  c.position = Position::kLearned;
  c.activation = MlpActivation::kGeluTanh;
  c.tie_embeddings = true;
  c.seq_len = 1024;
  return preset;
}

// The parts of Touvron et al. 2023 (arXiv:2302.13971) at a size that a CPU trains in minutes. The
// hidden width is 8/3 of dim, rounded up to a multiple of 32.
ModelPreset llama_tiny() {
  ModelPreset preset{"llama-tiny", "LLaMA's parts at a CPU's size, on bytes", {}};
  ModelConfig& c = preset.config;
  c.vocab_size = 256;
  c.dim = 128;
  c.heads = 8;
  c.kv_heads = 2;
  c.depth = 4;
  c.mlp_hidden = 352;
  c.norm_type = NormType::kRmsNorm;
  c.position = Position::kRope;
  c.rope_style = RopePairs::kHalves;
  c.activation = MlpActivation::kSwiglu;
  c.bias = false;
  c.head_bias = false;
  c.seq_len = 128;
  return preset;
}

}  // namespace

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> presets = {
      tutorial(),
      original(),
      {"nanogpt-char", "nanoGPT's recipe for characters on a GPU", nanogpt(6, 6, 384, 256)},
      {"nanogpt-cpu", "nanoGPT's recipe for characters on a CPU", nanogpt(4, 4, 128, 64)},
      gpt2(),
      llama_tiny()};
  return presets;
}

const ModelPreset& model_preset(std::string_view name, std::string_view option) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) {
    if (preset.name == wanted) return preset;
    names.push_back(preset.name);
  }
  std::vector<std::string> hints;
  const std::string near = nearest_word(wanted, names);
  if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
  throw UsageError(
      fmt::format("{} must be one of {}: '{}'", option, fmt::join(names, ", "), escaped(name)),
      hints);
}

}  // namespace attn
