// Parameters by the modeling files of the transformers classes; held to published counts in
// tests/sizing/weights_test.cpp.
#include "sizing/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "sizing/config_reader.h"

namespace attn {
namespace {

// How the layers of a family are built.
struct Build {
  std::string_view model_type;
  bool qkv_bias = false;
  bool out_bias = false;
  bool head_norm = false;  // a norm over the features of a head, for queries and keys
  Index norms = 2;         // vectors of the width in a layer: weights, and biases where there are
  Index last_norm = 1;     // the same behind the last layer
  Index mlp_matrices = 3;  // gated, or 2
  bool mlp_bias = false;
  bool tied = false;   // where the file does not say
  Index head_dim = 0;  // the class's; 0 for width / heads
  Index kv_heads = 0;  // the class's; 0 for one each
};

constexpr std::array kBuilds = {
    Build{.model_type = "llama"},
    Build{.model_type = "mistral", .kv_heads = 8},
    Build{.model_type = "ministral3", .kv_heads = 8},
    Build{.model_type = "mixtral", .kv_heads = 8},
    Build{.model_type = "phi3"},
    Build{.model_type = "granite"},
    Build{.model_type = "qwen2", .qkv_bias = true},
    Build{.model_type = "qwen2_vl_text", .qkv_bias = true},
    Build{.model_type = "qwen2_5_vl_text", .qkv_bias = true},
    Build{.model_type = "qwen3", .head_norm = true, .head_dim = 128},
    Build{.model_type = "qwen3_moe", .head_norm = true, .head_dim = 128},
    Build{.model_type = "gemma", .tied = true, .head_dim = 256},
    Build{.model_type = "gemma2", .norms = 4, .tied = true, .head_dim = 256},
    Build{.model_type = "gemma3_text",
          .head_norm = true,
          .norms = 4,
          .tied = true,
          .head_dim = 256,
          .kv_heads = 4},
    Build{.model_type = "starcoder2",
          .qkv_bias = true,
          .out_bias = true,
          .norms = 4,
          .last_norm = 2,
          .mlp_matrices = 2,
          .mlp_bias = true,
          .tied = true},
    Build{.model_type = "gpt_oss", .qkv_bias = true, .out_bias = true, .head_dim = 64},
};

// Sums and products that cannot overflow: a hostile file's counts are refused.
class Sum {
 public:
  explicit Sum(const ConfigReader& config) : config_(config) {}
  void add(std::initializer_list<Index> factors) { total_ += config_.product(factors); }
  Index total() const { return total_; }

 private:
  const ConfigReader& config_;
  Index total_ = 0;
};

struct Common {
  Index layers, width, vocabulary;
};

Common read_common(ConfigReader& config) {
  return {config.required_count({"num_hidden_layers", "n_layer"}, "layers"),
          config.required_count({"hidden_size", "n_embd", "n_embed", "d_model"}, "width"),
          config.required_count({"vocab_size"}, "vocabulary")};
}

Index inner_width(ConfigReader& config, Index width, Index standard) {
  const auto stated =
      config.count({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, "");
  if (stated) return *stated;
  if (standard == 0) {
    return config.required_count({"intermediate_size"}, "the inner width of the feed-forward");
  }
  return config.product({standard, width});
}

bool is_tied(ConfigReader& config, bool standard) {
  return config.flag("tie_word_embeddings").value_or(standard);
}

// GPT-2: learned positions, biases everywhere, two norms, tied.
WeightCount gpt2(ConfigReader& config) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index positions = config.required_count({"n_positions", "n_ctx"}, "positions");
  const Index inner = inner_width(config, d, 4);
  Sum sum(config);
  sum.add({vocabulary + positions, d});
  // Four matrices with their biases, two of the feed-forward with theirs, two norms.
  sum.add({layers, 4 * d + 2 * inner + 9, d});
  sum.add({layers, inner});
  sum.add({2, d});
  return {sum.total(), 0};
}

WeightCount opt(ConfigReader& config) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index positions = config.required_count({"max_position_embeddings"}, "positions");
  const Index inner = inner_width(config, d, 0);
  Sum sum(config);
  sum.add({vocabulary + positions + 2, d});  // two positions are set apart for padding
  sum.add({layers, 4 * d + 9 + 2 * inner, d});
  sum.add({layers, inner});
  sum.add({2, d});
  return {sum.total(), 0};
}

WeightCount bloom(ConfigReader& config) {
  const auto [layers, d, vocabulary] = read_common(config);
  Sum sum(config);
  sum.add({vocabulary + 2, d});
  sum.add({layers, 12 * d + 13, d});
  sum.add({2, d});
  return {sum.total(), 0};
}

WeightCount gpt_neox(ConfigReader& config) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index inner = inner_width(config, d, 0);
  Sum sum(config);
  sum.add({is_tied(config, false) ? 1 : 2, vocabulary, d});
  sum.add({layers, 4 * d + 9 + 2 * inner, d});
  sum.add({layers, inner});
  sum.add({2, d});
  return {sum.total(), 0};
}

// Falcon: no biases; one norm a layer where attention and feed-forward run side by side, two in the
// new architecture.
WeightCount falcon(ConfigReader& config) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index heads = config.required_count({"num_attention_heads", "n_head"}, "heads");
  const bool grouped = config.flag("new_decoder_architecture").value_or(false);
  const bool one = config.flag("multi_query").value_or(true);
  const Index kv_heads =
      grouped ? config.count({"num_kv_heads", "n_head_kv"}, "").value_or(heads) : (one ? 1 : heads);
  const bool parallel = config.flag("parallel_attn").value_or(true);
  const Index norms = grouped || !parallel ? 4 : 2;
  const Index inner = inner_width(config, d, 4);
  Sum sum(config);
  sum.add({is_tied(config, true) ? 1 : 2, vocabulary, d});
  sum.add({layers, d + 2 * kv_heads * (d / heads), d});
  sum.add({layers, d, d});
  sum.add({layers, 2 * inner, d});
  sum.add({layers, norms, d});
  sum.add({2, d});
  return {sum.total(), 0};
}

// Feed-forward of one expert, or of a dense layer.
Index feed_forward(const ConfigReader& config, const Build& build, Index d, Index inner) {
  return config.product({build.mlp_matrices, d, inner}) + (build.mlp_bias ? d + inner : 0);
}

struct Experts {
  Index count = 0;
  Index chosen = 0;
  Index inner = 0;
};

Experts read_experts(ConfigReader& config) {
  Experts experts;
  const auto count = config.count({"num_local_experts", "num_experts", "n_routed_experts"}, "");
  if (!count) return experts;
  experts.count = *count;
  experts.chosen = config.required_count(
      {"num_experts_per_tok", "experts_per_token", "num_experts_per_token"}, "experts of a token");
  const auto inner = config.count({"moe_intermediate_size"}, "");
  experts.inner = inner ? *inner : inner_width(config, 0, 0);
  if (experts.chosen > experts.count) config.refuse("chooses more experts than there are");
  return experts;
}

WeightCount like_llama(ConfigReader& config, const Build& build) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index heads = config.required_count({"num_attention_heads"}, "heads");
  const Index kv_heads = config.count({"num_key_value_heads"}, "")
                             .value_or(build.kv_heads > 0 ? build.kv_heads : heads);
  const Index head_dim =
      config.count({"head_dim"}, "").value_or(build.head_dim > 0 ? build.head_dim : d / heads);
  const bool qkv_bias = config.flag("attention_bias").value_or(build.qkv_bias);
  const Index q = config.product({heads, head_dim});
  const Index kv = config.product({2, kv_heads, head_dim});
  Sum attention(config);
  attention.add({d, q + kv});
  attention.add({q, d});
  if (qkv_bias) attention.add({1, q + kv});
  if (build.out_bias || (build.model_type == "llama" && qkv_bias)) attention.add({1, d});
  if (build.head_norm) attention.add({2, head_dim});
  attention.add({build.norms, d});
  const Experts experts = read_experts(config);
  Index all = 0;
  Index active = 0;
  if (experts.count == 0) {
    all = active = feed_forward(config, build, d, inner_width(config, d, 0));
  } else if (build.model_type == "gpt_oss") {
    attention.add({1, heads});  // a sink for each head
    const Index one = config.product({3, d, experts.inner}) + 2 * experts.inner + d;
    const Index router = config.product({d + 1, experts.count});
    all = config.product({experts.count, one}) + router;
    active = config.product({experts.chosen, one}) + router;
  } else {
    const Index one = feed_forward(config, build, d, experts.inner);
    const Index router = config.product({d, experts.count});
    all = config.product({experts.count, one}) + router;
    active = config.product({experts.chosen, one}) + router;
  }
  const Index outside = config.product({is_tied(config, build.tied) ? 1 : 2, vocabulary, d}) +
                        config.product({build.last_norm, d});
  return {config.product({layers, attention.total() + all}) + outside,
          config.product({layers, attention.total() + active}) + outside};
}

// DeepSeek V2 and V3: latent attention, some dense layers first, then routed and shared experts.
WeightCount deepseek(ConfigReader& config, bool third) {
  const auto [layers, d, vocabulary] = read_common(config);
  const Index heads = config.required_count({"num_attention_heads"}, "heads");
  const Index latent = config.required_count({"kv_lora_rank"}, "latent width");
  const Index rope = config.required_count({"qk_rope_head_dim"}, "rotated width");
  const Index plain = config.required_count({"qk_nope_head_dim"}, "key dim without rope");
  const Index value = config.required_count({"v_head_dim"}, "value dim");
  Sum attention(config);
  if (const auto low = config.count({"q_lora_rank"}, "")) {
    attention.add({*low, d + 1});
    attention.add({*low, heads, plain + rope});
  } else {
    attention.add({d, heads, plain + rope});
  }
  attention.add({d, latent + rope});
  attention.add({1, latent});
  attention.add({latent, heads, plain + value});
  attention.add({heads, value, d});
  attention.add({2, d});
  const Experts experts = read_experts(config);
  const Index dense_layers = std::min(config.number("first_k_dense_replace").value_or(0), layers);
  const Index shared = config.number("n_shared_experts").value_or(0);
  const Index one = config.product({3, d, experts.inner});
  const Index router = config.product({d + (third ? 1 : 0), experts.count});
  const Index dense = config.product({3, d, inner_width(config, d, 0)});
  const Index outside = config.product({is_tied(config, false) ? 1 : 2, vocabulary, d}) + d;
  const Index base =
      config.product({layers, attention.total()}) + config.product({dense_layers, dense}) + outside;
  const Index sparse = layers - dense_layers;
  return {base + config.product({sparse, config.product({experts.count + shared, one}) + router}),
          base + config.product({sparse, config.product({experts.chosen + shared, one}) + router})};
}

std::optional<WeightCount> counted(ConfigReader& config, int depth) {
  if (depth < 4 && config.is_object("text_config")) {
    auto inner = config.object("text_config");
    return counted(*inner, depth + 1);  // the vision part is not counted
  }
  const std::string type = config.letters("model_type").value_or("");
  WeightCount count;
  if (type == "gpt2") {
    count = gpt2(config);
  } else if (type == "opt") {
    count = opt(config);
  } else if (type == "bloom") {
    count = bloom(config);
  } else if (type == "gpt_neox") {
    count = gpt_neox(config);
  } else if (type == "falcon") {
    count = falcon(config);
  } else if (type == "deepseek_v2" || type == "deepseek_v3" || type == "kimi_k2") {
    count = deepseek(config, type != "deepseek_v2");
  } else {
    const Build* build = nullptr;
    for (const Build& one : kBuilds) {
      if (one.model_type == type) build = &one;
    }
    if (build == nullptr) return std::nullopt;
    count = like_llama(config, *build);
  }
  if (count.active == 0) count.active = count.parameters;
  return count;
}

}  // namespace

std::optional<WeightCount> weight_count(const nlohmann::json& document, const std::string& name) {
  ConfigReader config(document, name);
  return counted(config, 0);
}

}  // namespace attn
