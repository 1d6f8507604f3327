// Keys: ggml-org/ggml docs/gguf.md and gguf-py/gguf/constants.py; the windows by architecture and
// the states: ggml-org/llama.cpp src/llama-model.cpp, src/llama-hparams.cpp.
#include "sizing/gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"
#include "sizing/gguf_metadata.h"

namespace attn {
namespace {

// Every n-th layer sees everything, where the file has a window and no pattern of its own.
struct WindowRule {
  std::string_view arch;
  Index distance;  ///< 0: the window is ignored
};
constexpr std::array kWindowRules = {
    WindowRule{"gemma2", 2},       WindowRule{"gemma3", 6},  WindowRule{"gemma3n", 5},
    WindowRule{"cohere2", 4},      WindowRule{"gpt-oss", 2}, WindowRule{"llama4", 4},
    WindowRule{"exaone4", 4},      WindowRule{"olmo2", 4},   WindowRule{"phi3", 0},
    WindowRule{"smallthinker", 4}, WindowRule{"qwen2", 0},   WindowRule{"phimoe", 0},
};

class Header {
 public:
  explicit Header(const GgufMetadata& data) : data_(data) {
    const auto arch = data.text("general.architecture");
    if (!arch) data.refuse("says nothing about its architecture ('general.architecture')");
    arch_ = *arch;
  }

  const std::string& arch() const { return arch_; }
  std::string key(const char* tail) const { return arch_ + "." + tail; }

  std::optional<Index> count(const char* tail, const char* what) {
    const auto value = data_.number(key(tail));
    if (!value) return std::nullopt;
    if (*value < 1 || *value > (Index{1} << 31)) {
      data_.refuse(fmt::format("'{}' must be 1 to 2^31: {}", escaped(key(tail)), *value));
    }
    if (*what != '\0') spec.facts.push_back({what, *value, escaped(key(tail))});
    return value;
  }
  Index required(const char* tail, const char* what) {
    const auto value = count(tail, what);
    if (!value) data_.refuse(fmt::format("says nothing about {} ('{}')", what, escaped(key(tail))));
    return *value;
  }
  Index number(const char* tail) const {
    return std::clamp<Index>(data_.number(key(tail)).value_or(0), 0, Index{1} << 31);
  }
  // One number for all layers, or one each.
  std::optional<std::vector<Index>> each(const char* tail, Index layers) {
    auto values = data_.numbers(key(tail));
    if (!values) return std::nullopt;
    const auto wanted = static_cast<std::size_t>(layers);
    if (values->size() == 1) values->assign(wanted, values->front());
    if (values->size() < wanted) {
      data_.refuse(fmt::format("'{}' has {} entries for {} layers", escaped(key(tail)),
                               values->size(), layers));
    }
    values->resize(wanted);
    for (const Index value : *values) {
      if (value < 0 || value > (Index{1} << 31)) {
        data_.refuse(fmt::format("'{}' must be 0 to 2^31: {}", escaped(key(tail)), value));
      }
    }
    return values;
  }

  CacheSpec spec;

 private:
  const GgufMetadata& data_;
  std::string arch_;
};

LayerState state_of(const Header& header) {
  const Index taps = header.number("ssm.conv_kernel");
  const Index inner = header.number("ssm.inner_size");
  const Index state = header.number("ssm.state_size");
  const Index groups = header.number("ssm.group_count");
  if (taps > 0 && inner > 0 && state > 0) {
    return {.kind = "recurrent",
            .conv_inner = (taps - 1) * inner,
            .conv_group = 2 * state * (taps - 1),
            .groups = groups,
            .recurrent = state * inner,
            .conv_is_f32 = true};
  }
  const Index width = header.number("embedding_length");
  const Index cached = header.number("shortconv.l_cache");
  if (cached > 0) {
    return {.kind = "short convolution", .conv_inner = width * (cached - 1), .conv_is_f32 = true};
  }
  const Index head = header.number("wkv.head_size");
  if (head > 0) {
    const Index shifts = std::max<Index>(header.number("token_shift_count"), 1);
    return {.kind = "rwkv",
            .conv_inner = shifts * width,
            .recurrent = width * head,
            .conv_is_f32 = true};
  }
  return {};
}

// True for each layer whose rows are a window.
std::vector<bool> sliding(Header& header, const GgufMetadata& data, Index layers, Index window) {
  std::vector<bool> slides(static_cast<std::size_t>(layers), false);
  if (window < 1) return slides;
  Index distance = -1;
  const auto pattern = data.numbers(header.key("attention.sliding_window_pattern"));
  if (pattern && pattern->size() > 1) {
    const auto each = header.each("attention.sliding_window_pattern", layers);
    for (std::size_t i = 0; i < slides.size(); ++i) slides[i] = (*each)[i] != 0;
    return slides;
  }
  if (pattern) distance = pattern->front();
  for (const WindowRule& rule : kWindowRules) {
    if (distance < 0 && rule.arch == header.arch()) distance = rule.distance;
  }
  if (distance < 0) {
    data.refuse(fmt::format("has a window, and which layers of '{}' slide is not known",
                            escaped(header.arch())));
  }
  header.spec.facts.push_back({"distance of full layers", distance,
                               pattern ? escaped(header.key("attention.sliding_window_pattern"))
                                       : "rule of " + escaped(header.arch())});
  for (Index i = 0; distance > 0 && i < layers; ++i) {
    slides[static_cast<std::size_t>(i)] = (i + 1) % distance != 0;
  }
  return slides;
}

// Layers that attend: all, those with key-value heads, or every n-th of architectures that say so.
std::vector<Index> kv_heads_of(Header& header, const GgufMetadata& data, Index layers) {
  auto kv_heads = header.each("attention.head_count_kv", layers);
  if (!kv_heads) kv_heads = header.each("attention.head_count", layers);
  if (!kv_heads) data.refuse("says nothing about heads ('attention.head_count')");
  const Index interval = header.number("full_attention_interval");
  const bool gated = header.arch().starts_with("qwen3next") || header.arch().starts_with("qwen35");
  if (gated || interval > 0) {
    const Index n = interval > 0 ? interval : 4;
    header.spec.facts.push_back({"distance of attention layers", n,
                                 interval > 0 ? escaped(header.key("full_attention_interval"))
                                              : "rule of " + escaped(header.arch())});
    for (Index i = 0; i < layers; ++i) {
      if ((i + 1) % n != 0) (*kv_heads)[static_cast<std::size_t>(i)] = 0;
    }
  }
  return *kv_heads;
}

}  // namespace

CacheSpec gguf_cache_spec(std::string_view bytes, const std::string& name) {
  const GgufMetadata data(bytes, name);
  Header header(data);
  Index layers = header.required("block_count", "layers");
  if (layers > 100'000) data.refuse(fmt::format("has {} layers, more than any model", layers));
  const Index further = header.number("nextn_predict_layers");
  if (further > 0 && further < layers) {
    layers -= further;
    header.spec.facts.push_back({"layers", layers, "block_count less nextn_predict_layers"});
  }
  CacheSpec& spec = header.spec;
  spec.family = header.arch() == "phi3" ? "phi3" : header.arch();
  spec.max_tokens = header.number("context_length");
  spec.own_type = "f32";  // llama.cpp keeps states in f32
  const LayerState state = state_of(header);
  const std::vector<Index> kv_heads = kv_heads_of(header, data, layers);
  const Index heads =
      std::max<Index>(data.number(header.key("attention.head_count")).value_or(0), 0);
  spec.heads = heads;
  if (header.arch() == "t5") {
    data.refuse("is an encoder with a decoder, of which GGUF headers do not say enough");
  }
  // Encoders see all tokens at once and keep nothing.
  if (data.number(header.key("attention.causal")) == 0 || header.arch() == "t5encoder") {
    spec.add({.kind = "encoder"}, layers);
    return spec;
  }
  const auto latent = header.count("attention.kv_lora_rank", "latent width");
  Index key_dim = header.count("attention.key_length", "key dim").value_or(0);
  if (key_dim == 0 && !latent) {
    const Index width = header.required("embedding_length", "width");
    if (heads < 1 || width % heads != 0) {
      data.refuse(fmt::format("{} heads do not divide the width {}", heads, width));
    }
    key_dim = width / heads;
    spec.facts.push_back({"key dim", key_dim, "width / heads"});
  }
  const Index value_dim = header.count("attention.value_length", "value dim").value_or(key_dim);
  for (const Index each : kv_heads) {
    if (!latent && heads > 0 && each > 0 && heads % each != 0) {
      data.refuse(fmt::format("{} kv heads do not divide {} heads", each, heads));
    }
  }
  const Index window = header.number("attention.sliding_window");
  const std::vector<bool> slides = sliding(header, data, layers, window);
  const Index swa_key =
      header.count("attention.key_length_swa", "key dim, window").value_or(key_dim);
  const Index swa_value =
      header.count("attention.value_length_swa", "value dim, window").value_or(value_dim);
  Index shared = header.number("attention.shared_kv_layers");
  if (shared == 0 && header.arch() == "gemma3n" && layers > 20) {
    shared = layers - 20;  // files from before the key; llama.cpp lets the first 20 own a cache
  }
  if (shared >= layers) {
    data.refuse(fmt::format("'{}' is {} of {} layers",
                            escaped(header.key("attention.shared_kv_layers")), shared, layers));
  }
  if (shared > 0) spec.facts.push_back({"layers that share", shared, "attention.shared_kv_layers"});
  const Index rotated = latent ? header.required("rope.dimension_count", "rotated width") : 0;
  const Index indexer = header.number("attention.indexer.key_length");
  for (Index i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i >= layers - shared) {
      spec.add({.kind = "shares an earlier layer's"});
    } else if (kv_heads[at] == 0) {
      spec.add(state.empty() ? LayerCache{.kind = "no attention"}
                             : LayerCache{.kind = state.kind, .state = state});
    } else if (latent) {
      LayerCache layer{.kind = "latent",
                       .rows = {{.form = CacheRows::Form::kLatent, .key_dim = *latent + rotated}}};
      if (indexer > 0) {
        layer.rows.push_back({.form = CacheRows::Form::kIndexer, .key_dim = indexer});
      }
      spec.add(layer);
    } else if (slides[at]) {
      spec.add(window_layer(kv_heads[at], swa_key, swa_value, window));
    } else {
      spec.add(full_layer(kv_heads[at], key_dim, value_dim));
    }
  }
  // Parallel hybrids keep both in every layer.
  if (header.arch() == "falcon-h1") {
    for (LayerRun& run : spec.layers) run.layer.state = state;
  }
  return spec;
}

}  // namespace attn
