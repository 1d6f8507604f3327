#include "model/rope_config.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "model/config_section.h"

namespace attn {
namespace {

using Json = nlohmann::json;
using Section = ConfigSection;

const Json& innermost(const Json& config) {
  const Json* at = &config;
  constexpr int kDeepest = 4;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const Json* inner = nullptr;
    for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config"}) {
      const auto found = at->find(key);
      if (inner == nullptr && found != at->end() && found->is_object()) inner = &*found;
    }
    if (inner == nullptr) break;
    at = inner;
  }
  return *at;
}

constexpr std::array<std::string_view, 14> kNoRope = {
    "gpt2",  "gpt_neo", "opt",         "bert", "roberta", "distilbert", "bart",
    "bloom", "mpt",     "gpt_bigcode", "t5",   "mt5",     "albert",     "electra"};

constexpr std::array<std::string_view, 13> kInterleaved = {
    "gptj",   "codegen",     "cohere", "cohere2",  "glm",          "glm4",       "chatglm",
    "llama4", "llama4_text", "helium", "ernie4_5", "ernie4_5_moe", "deepseek_v2"};

bool one_of(std::string_view word, const auto& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Index head_dim(const Section& config) {
  // Latent attention turns a part of its own, whatever head_dim says.
  if (const auto rotated = config.count("qk_rope_head_dim")) return *rotated;
  if (const auto given = config.count({"head_dim", "attention_head_dim", "kv_channels"})) {
    return *given;
  }
  const auto width = config.count({"hidden_size", "n_embd", "d_model", "dim"});
  const auto heads = config.count({"num_attention_heads", "n_head", "n_heads", "num_heads"});
  if (!width || !heads) config.fail("needs head_dim, or hidden_size and num_attention_heads");
  if (*width % *heads != 0) {
    config.fail(
        fmt::format("hidden_size {} is no multiple of num_attention_heads {}", *width, *heads));
  }
  return *width / *heads;
}

// The features that turn, of those of a head.
Index rotary_dim(const Section& config, const Section& rope, Index head_dim) {
  Index turned = head_dim;
  if (!config.find("qk_rope_head_dim")) {
    for (const Section* section : {&rope, &config}) {
      bool found = false;
      for (const char* key :
           {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent"}) {
        const auto part = section->real(key);
        if (!part) continue;
        if (*part <= 0 || *part > 1) section->refuse(key, "above 0 and at most 1");
        turned = static_cast<Index>(static_cast<double>(head_dim) * *part);
        found = true;
      }
      if (found) break;
    }
    if (const auto given = config.count("rotary_dim")) turned = *given;
  }
  if (turned < 2 || turned % 2 != 0 || turned > head_dim) {
    config.fail(
        fmt::format("an even number of features must turn, from 2 to head_dim {}, not {} "
                    "(partial_rotary_factor, rotary_dim or head_dim)",
                    head_dim, turned));
  }
  return turned;
}

RopeScalingKind kind_of(const Section& rope) {
  using enum RopeScalingKind;
  auto word = rope.text("rope_type");
  if (!word) word = rope.text("type");
  // mrope gives the parts of an image positions of their own; text turns as ever.
  if (!word || *word == "default" || *word == "mrope") return kNone;
  if (*word == "su") return kLongrope;  // what Phi-3 called it first
  const auto kind = rope_scaling_kind(*word);
  if (!kind) {
    rope.fail(fmt::format(
        "rope_scaling: rope_type '{}' is not known; known are default, linear, ntk, dynamic, "
        "yarn, llama3 and longrope",
        escaped(*word)));
  }
  return *kind;
}

RopeScaling scaling(const Section& config, const Section& rope) {
  RopeScaling s;
  s.kind = kind_of(rope);
  if (s.kind == RopeScalingKind::kNone) return s;
  constexpr const char* kOriginal = "original_max_position_embeddings";
  auto original = rope.count(kOriginal);
  if (!original) original = config.count(kOriginal);
  const auto longest = config.count("max_position_embeddings");
  s.original_max_positions = original ? *original : longest.value_or(0);
  if (const auto factor = rope.real("factor")) {
    s.factor = *factor;
  } else if (original && longest) {
    s.factor = static_cast<double>(*longest) / static_cast<double>(*original);
  } else if (s.kind != RopeScalingKind::kLongrope) {
    rope.fail(fmt::format("rope type '{}' needs a factor", rope_scaling_name(s.kind)));
  }
  // A 0 stands for the default, as it does there.
  if (const double given = rope.real("beta_fast").value_or(0); given != 0) s.beta_fast = given;
  if (const double given = rope.real("beta_slow").value_or(0); given != 0) s.beta_slow = given;
  s.truncate = rope.flag("truncate").value_or(true);
  s.attention_factor = rope.real("attention_factor");
  s.mscale = rope.real("mscale");
  s.mscale_all_dim = rope.real("mscale_all_dim");
  s.low_freq_factor = rope.real("low_freq_factor").value_or(s.low_freq_factor);
  s.high_freq_factor = rope.real("high_freq_factor").value_or(s.high_freq_factor);
  s.long_factor = rope.reals("long_factor");
  s.short_factor = rope.reals("short_factor");
  if (rope.find("long_mscale") != nullptr || rope.find("short_mscale") != nullptr) {
    rope.fail("long_mscale and short_mscale, an attention factor for each length, are not known");
  }
  return s;
}

// The object that holds the parameters of a layer type's rope, and where the base is if not there.
struct Parameters {
  Json rope = Json::object();
  const char* theta_key = "rope_theta";
};

// {"full_attention": {"rope_theta": ...}, "sliding_attention": {...}}
bool is_by_layer(const Json& rope) {
  return !rope.empty() &&
         std::all_of(rope.begin(), rope.end(), [](const Json& value) { return value.is_object(); });
}

void require_layer(const Section& config, const std::string& layer_type,
                   const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), layer_type) != names.end()) return;
  if (layer_type.empty()) {
    config.fail(fmt::format("its layers have rope of {} kinds: {}; one must be named", names.size(),
                            escaped(fmt::format("{}", fmt::join(names, ", ")))));
  }
  config.fail(fmt::format("no layers are of type '{}'; it has {}", escaped(layer_type),
                          escaped(fmt::format("{}", fmt::join(names, ", ")))));
}

// A sliding layer's base under the keys of Gemma 3 and ModernBERT.
const char* local_theta_key(const Section& config) {
  for (const char* key : {"rope_local_base_freq", "local_rope_theta"}) {
    if (config.find(key) != nullptr) return key;
  }
  return nullptr;
}

Parameters parameters(const Section& config, const std::string& layer_type) {
  Parameters found;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = config.find(key);
    if (rope == nullptr) continue;
    if (!rope->is_object()) config.refuse(key, "an object");
    found.rope = *rope;
    break;
  }
  if (is_by_layer(found.rope)) {
    std::vector<std::string> names;
    for (const auto& each : found.rope.items()) names.push_back(each.key());
    require_layer(config, layer_type, names);
    found.rope = Json(found.rope.at(layer_type));
    return found;
  }
  const char* local = local_theta_key(config);
  if (local == nullptr) {
    if (!layer_type.empty()) config.fail("all its layers have the same rope: none is to be named");
    return found;
  }
  require_layer(config, layer_type, {"full_attention", "sliding_attention"});
  if (layer_type == "sliding_attention") return {Json::object(), local};
  if (config.find("global_rope_theta") != nullptr) found.theta_key = "global_rope_theta";
  return found;
}

std::optional<double> theta(const Section& config, const Section& rope, const char* key) {
  if (const auto inside = rope.real("rope_theta")) return inside;
  for (const char* name : {key, "rotary_emb_base", "rope_base", "rotary_base"}) {
    if (const auto given = config.real(name)) return given;
  }
  return std::nullopt;
}

}  // namespace

RopeConfig rope_config(const Json& document, const std::string& name,
                       const std::string& layer_type) {
  if (!document.is_object()) {
    throw DataError(fmt::format("{}: a configuration must be a JSON object", name));
  }
  const Section config(innermost(document), name);
  const std::string model = config.text("model_type").value_or("");
  if (one_of(model, kNoRope)) {
    config.fail(fmt::format("model_type '{}' has no rotary positions", model));
  }
  const Parameters found = parameters(config, layer_type);
  const Section rope(found.rope, name);
  RopeConfig c;
  if (const auto given = theta(config, rope, found.theta_key)) {
    c.theta = *given;
    c.theta_given = true;
  }
  c.head_dim = head_dim(config);
  c.rotary_dim = rotary_dim(config, rope, c.head_dim);
  c.max_positions = config.count({"max_position_embeddings", "n_positions", "n_ctx"}).value_or(0);
  const bool interleaved = config.flag("rope_interleave").value_or(one_of(model, kInterleaved));
  c.pairs = interleaved ? RopePairs::kInterleaved : RopePairs::kHalves;
  c.scaling = scaling(config, rope);
  if (const auto fault = rope_scaling_fault(c.rotary_dim, c.theta, c.scaling)) config.fail(*fault);
  return c;
}

RopeConfig parse_rope_config(std::string_view text, const std::string& name,
                             const std::string& layer_type) {
  return rope_config(parse_json(text, name), name, layer_type);
}

}  // namespace attn
