#include "model/import/hf_family.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/error.h"

namespace attn {
namespace {

HfFamily gpt2() {
  HfFamily f;
  f.model_type = "gpt2";
  f.architecture = "GPT2LMHeadModel";
  f.prefix = "transformer.";
  f.head = "lm_head.weight";
  f.tensors = {
      {"wte.weight", {"tokens.weight"}},
      {"wpe.weight", {"positions.weight"}},
      {"h.{}.ln_1.weight", {"blocks.{}.norm1.weight"}},
      {"h.{}.ln_1.bias", {"blocks.{}.norm1.bias"}},
      {"h.{}.attn.c_attn.weight",
       {"blocks.{}.attn.q_proj.weight", "blocks.{}.attn.k_proj.weight",
        "blocks.{}.attn.v_proj.weight"},
       true},
      {"h.{}.attn.c_attn.bias",
       {"blocks.{}.attn.q_proj.bias", "blocks.{}.attn.k_proj.bias", "blocks.{}.attn.v_proj.bias"}},
      {"h.{}.attn.c_proj.weight", {"blocks.{}.attn.out_proj.weight"}, true},
      {"h.{}.attn.c_proj.bias", {"blocks.{}.attn.out_proj.bias"}},
      {"h.{}.ln_2.weight", {"blocks.{}.norm2.weight"}},
      {"h.{}.ln_2.bias", {"blocks.{}.norm2.bias"}},
      {"h.{}.mlp.c_fc.weight", {"blocks.{}.mlp.fc1.weight"}, true},
      {"h.{}.mlp.c_fc.bias", {"blocks.{}.mlp.fc1.bias"}},
      {"h.{}.mlp.c_proj.weight", {"blocks.{}.mlp.fc2.weight"}, true},
      {"h.{}.mlp.c_proj.bias", {"blocks.{}.mlp.fc2.bias"}},
      {"ln_f.weight", {"norm.weight"}},
      {"ln_f.bias", {"norm.bias"}},
      {"lm_head.weight", {"head.weight"}},
  };
  f.buffers = {"h.{}.attn.bias", "h.{}.attn.masked_bias"};
  f.counts = {{"vocab_size", &ModelConfig::vocab_size},
              {"n_positions", &ModelConfig::max_positions},
              {"n_embd", &ModelConfig::dim},
              {"n_layer", &ModelConfig::depth},
              {"n_head", &ModelConfig::heads},
              {"n_inner", &ModelConfig::mlp_hidden, true}};
  f.eps_key = "layer_norm_epsilon";
  f.usual_eps = 1e-5;
  f.activation_key = "activation_function";
  f.activations = {{"gelu_new", MlpActivation::kGeluTanh},
                   {"gelu_pytorch_tanh", MlpActivation::kGeluTanh},
                   {"gelu", MlpActivation::kGelu},
                   {"relu", MlpActivation::kRelu}};
  f.fixed = {{"scale_attn_weights", true},
             {"scale_attn_by_inverse_layer_idx", false},
             {"reorder_and_upcast_attn", false},
             {"add_cross_attention", false}};
  f.biases = HfBiases::kAll;
  f.usually_tied = true;
  f.position = Position::kLearned;
  f.norm_type = NormType::kLayerNorm;
  return f;
}

HfFamily llama() {
  HfFamily f;
  f.model_type = "llama";
  f.architecture = "LlamaForCausalLM";
  f.head = "lm_head.weight";
  f.tensors = {{"model.embed_tokens.weight", {"tokens.weight"}},
               {"model.layers.{}.input_layernorm.weight", {"blocks.{}.norm1.weight"}},
               {"model.layers.{}.post_attention_layernorm.weight", {"blocks.{}.norm2.weight"}},
               {"model.norm.weight", {"norm.weight"}},
               {"lm_head.weight", {"head.weight"}}};
  const auto add = [&](std::string_view weight, std::string_view our_weight, std::string_view bias,
                       std::string_view our_bias) {
    f.tensors.push_back({weight, {our_weight}});
    f.tensors.push_back({bias, {our_bias}});
  };
  add("model.layers.{}.self_attn.q_proj.weight", "blocks.{}.attn.q_proj.weight",
      "model.layers.{}.self_attn.q_proj.bias", "blocks.{}.attn.q_proj.bias");
  add("model.layers.{}.self_attn.k_proj.weight", "blocks.{}.attn.k_proj.weight",
      "model.layers.{}.self_attn.k_proj.bias", "blocks.{}.attn.k_proj.bias");
  add("model.layers.{}.self_attn.v_proj.weight", "blocks.{}.attn.v_proj.weight",
      "model.layers.{}.self_attn.v_proj.bias", "blocks.{}.attn.v_proj.bias");
  add("model.layers.{}.self_attn.o_proj.weight", "blocks.{}.attn.out_proj.weight",
      "model.layers.{}.self_attn.o_proj.bias", "blocks.{}.attn.out_proj.bias");
  add("model.layers.{}.mlp.gate_proj.weight", "blocks.{}.mlp.gate_proj.weight",
      "model.layers.{}.mlp.gate_proj.bias", "blocks.{}.mlp.gate_proj.bias");
  add("model.layers.{}.mlp.up_proj.weight", "blocks.{}.mlp.up_proj.weight",
      "model.layers.{}.mlp.up_proj.bias", "blocks.{}.mlp.up_proj.bias");
  add("model.layers.{}.mlp.down_proj.weight", "blocks.{}.mlp.down_proj.weight",
      "model.layers.{}.mlp.down_proj.bias", "blocks.{}.mlp.down_proj.bias");
  f.buffers = {"model.layers.{}.self_attn.rotary_emb.inv_freq"};
  f.counts = {{"vocab_size", &ModelConfig::vocab_size},
              {"max_position_embeddings", &ModelConfig::seq_len, true},
              {"hidden_size", &ModelConfig::dim},
              {"intermediate_size", &ModelConfig::mlp_hidden},
              {"num_hidden_layers", &ModelConfig::depth},
              {"num_attention_heads", &ModelConfig::heads},
              {"num_key_value_heads", &ModelConfig::kv_heads, true},
              {"head_dim", &ModelConfig::head_dim, true}};
  f.eps_key = "rms_norm_eps";
  f.usual_eps = 1e-6;
  f.activation_key = "hidden_act";
  f.activations = {{"silu", MlpActivation::kSwiglu}, {"swish", MlpActivation::kSwiglu}};
  f.biases = HfBiases::kByKeys;
  f.usually_tied = false;
  f.position = Position::kRope;
  f.norm_type = NormType::kRmsNorm;
  return f;
}

// Llama under another name; its window must be off.
HfFamily mistral() {
  HfFamily f = llama();
  f.model_type = "mistral";
  f.architecture = "MistralForCausalLM";
  f.biases = HfBiases::kNone;
  f.has_window = true;
  return f;
}

// Llama with biases on queries, keys and values.
HfFamily qwen2() {
  HfFamily f = llama();
  f.model_type = "qwen2";
  f.architecture = "Qwen2ForCausalLM";
  f.fixed = {{"use_sliding_window", false}};
  f.biases = HfBiases::kQkv;
  return f;
}

// The block's number in {}'s place.
std::string filled(std::string_view pattern, Index block) {
  std::string name(pattern);
  const std::size_t at = name.find("{}");
  if (at != std::string::npos) name.replace(at, 2, std::to_string(block));
  return name;
}

bool is_of_block(const HfTensor& tensor) {
  return tensor.name.find("{}") != std::string_view::npos;
}

using Layout = std::unordered_map<std::string_view, const ParamInfo*>;

// Nothing where the model has not what the tensor would hold: a bias, an untied head.
std::optional<HfMapping> mapping(const HfTensor& tensor, Index block, const Layout& layout) {
  HfMapping made;
  made.name = filled(tensor.name, block);
  made.transposed = tensor.transposed;
  Index outputs = 0;
  for (const std::string_view pattern : tensor.holds) {
    const auto found = layout.find(filled(pattern, block));
    if (found == layout.end()) return std::nullopt;
    made.holds.push_back(*found->second);
    outputs += found->second->shape.front();
  }
  made.shape = made.holds.front().shape;
  made.shape.front() = outputs;
  if (made.transposed) std::reverse(made.shape.begin(), made.shape.end());
  return made;
}

// Why a model is not of a family; empty where it is.
std::string misfit(const HfFamily& family, const ModelConfig& c) {
  const auto has = [](const char* attribute, const std::string& value) {
    return fmt::format("{} {}", attribute, value);
  };
  if (c.arch != Arch::kDecoder) return has("arch", enum_name(c.arch));
  if (c.position != family.position) return has("position", enum_name(c.position));
  if (c.norm_type != family.norm_type) return has("norm_type", enum_name(c.norm_type));
  if (c.norm != NormPlacement::kPre) return has("norm", enum_name(c.norm));
  if (!*c.final_norm) return "no final_norm";
  if (std::none_of(family.activations.begin(), family.activations.end(),
                   [&](const HfActivation& one) { return one.activation == c.activation; })) {
    return has("activation", enum_name(c.activation));
  }
  if (!c.tie_embeddings && c.head_bias) return "a head with a bias (head_bias)";
  if (family.norm_type == NormType::kLayerNorm && !c.norm_bias) return "norms without a bias";
  if (family.position == Position::kLearned) {
    if (c.kv_heads != c.heads) return has("kv_heads", std::to_string(c.kv_heads));
    if (c.head_dim * c.heads != c.dim) return has("head_dim", std::to_string(c.head_dim));
  } else if (c.rope_scaling.kind == RopeScalingKind::kNtk) {
    return "rope scaling ntk, which has no name there";
  }
  switch (family.biases) {
    case HfBiases::kAll:
      if (!c.bias || !*c.out_bias || !*c.mlp_bias) return "projections without a bias";
      break;
    case HfBiases::kByKeys:
      if (c.bias != *c.out_bias) return "a bias on some of attention's projections only";
      break;
    case HfBiases::kNone:
      if (c.bias || *c.out_bias || *c.mlp_bias) return "projections with a bias";
      break;
    case HfBiases::kQkv:
      if (!c.bias || *c.out_bias || *c.mlp_bias) return "biases on other projections";
      break;
  }
  return "";
}

}  // namespace

const std::vector<HfFamily>& hf_families() {
  static const std::vector<HfFamily> families = {gpt2(), llama(), mistral(), qwen2()};
  return families;
}

const HfFamily* find_hf_family(std::string_view model_type) {
  for (const HfFamily& family : hf_families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

const HfFamily& hf_family_of(const ModelConfig& config) {
  for (const HfFamily& family : hf_families()) {
    if (misfit(family, config).empty()) return family;
  }
  const bool learned = config.position == Position::kLearned;
  if (!learned && config.position != Position::kRope) {
    throw UsageError(
        fmt::format("the model is neither GPT-2- nor Llama-shaped: position {}, where "
                    "GPT-2's is learned and Llama's rope",
                    enum_name(config.position)));
  }
  const HfFamily& nearest = *find_hf_family(learned ? "gpt2" : "llama");
  throw UsageError(
      fmt::format("the model is neither GPT-2- nor Llama-shaped: {} has no place in {}",
                  misfit(nearest, config), nearest.architecture));
}

std::vector<HfMapping> hf_mappings(const HfFamily& family, const ModelConfig& config) {
  const std::vector<ParamInfo> parameters = parameter_layout(config);
  Layout layout;
  for (const ParamInfo& info : parameters) layout.emplace(info.name, &info);
  std::vector<HfMapping> all;
  std::size_t held = 0;
  const auto add = [&](const HfTensor& tensor, Index block) {
    if (auto made = mapping(tensor, block, layout)) {
      held += made->holds.size();
      all.push_back(std::move(*made));
    }
  };
  // What comes before the blocks, the blocks, what comes after them.
  const auto& tensors = family.tensors;
  const auto first = std::find_if(tensors.begin(), tensors.end(), is_of_block);
  std::for_each(tensors.begin(), first, [&](const HfTensor& tensor) { add(tensor, 0); });
  for (Index block = 0; block < config.depth; ++block) {
    for (const HfTensor& tensor : tensors) {
      if (is_of_block(tensor)) add(tensor, block);
    }
  }
  std::for_each(first, tensors.end(), [&](const HfTensor& tensor) {
    if (!is_of_block(tensor)) add(tensor, 0);
  });
  require_shape(held == parameters.size(), "hf mappings: a parameter has no name in the family");
  return all;
}

Index hf_tensors_per_block(const HfFamily& family, const ModelConfig& config) {
  ModelConfig one = config;
  one.depth = 1;
  const std::vector<HfMapping> all = hf_mappings(family, one);
  return std::count_if(all.begin(), all.end(), [](const HfMapping& mapping) {
    return mapping.holds.front().name.starts_with("blocks.");
  });
}

std::string hf_full_name(const HfFamily& family, const std::string& name) {
  return name == family.head ? name : std::string(family.prefix) + name;
}

std::string_view hf_bare_name(const HfFamily& family, std::string_view name) {
  return name.starts_with(family.prefix) ? name.substr(family.prefix.size()) : name;
}

bool is_hf_buffer(const HfFamily& family, std::string_view bare_name) {
  return std::any_of(family.buffers.begin(), family.buffers.end(), [&](std::string_view pattern) {
    const std::size_t at = pattern.find("{}");
    const std::string_view before = pattern.substr(0, at);
    const std::string_view after = pattern.substr(at + 2);
    if (bare_name.size() <= before.size() + after.size() || !bare_name.starts_with(before) ||
        !bare_name.ends_with(after)) {
      return false;
    }
    bare_name.remove_prefix(before.size());
    bare_name.remove_suffix(after.size());
    return bare_name.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

}  // namespace attn
