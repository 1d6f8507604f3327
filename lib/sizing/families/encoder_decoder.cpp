// Families whose decoder reads another sequence: each decoder layer keeps its own keys and values
// and those of the encoder's output, which do not grow.
// Sources: T5: transformers configuration_t5.py; BART, Whisper: sdpython/onnx-diagnostic
// hub_data_cached_configs.py; Whisper's 1500 frames: NVIDIA/TensorRT-LLM#19514; Mllama:
// TensorRT-LLM test_modeling_mllama.py.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sizing/families/family.h"

namespace attn {
namespace {

// Under the decoder's own names; num_hidden_layers is the encoder's in these files.
Sizes decoder_sizes(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers =
      config.count_or({"decoder_layers"}, "layers", {family.defaults.layers, family.defaults.name});
  sizes.heads = config.count_or({"decoder_attention_heads"}, "heads",
                                {family.defaults.heads, family.defaults.name});
  const Index width =
      config.count_or({"d_model"}, "width", {family.defaults.width, family.defaults.name});
  if (width % sizes.heads != 0) {
    config.refuse(fmt::format("{} heads do not divide the width {}", sizes.heads, width));
  }
  sizes.kv_heads = sizes.heads;
  sizes.head_dim = width / sizes.heads;
  config.note("head dim", sizes.head_dim,
              fmt::format("width / heads = {} / {}", width, sizes.heads));
  return sizes;
}

CacheSpec bart(ConfigReader& config, const Family& family) {
  config.ignore("is_encoder_decoder");
  return with_cross_attention(all_full(decoder_sizes(config, family)), 0);
}

// Whisper's encoder always gives max_source_positions frames.
CacheSpec whisper(ConfigReader& config, const Family& family) {
  config.ignore("is_encoder_decoder");
  const Index frames =
      config.count_or({"max_source_positions"}, "encoder positions", {1500, family.defaults.name});
  return with_cross_attention(all_full(decoder_sizes(config, family)), frames);
}

// Moonshine: under names of its own, with heads that may share keys and values.
CacheSpec moonshine(ConfigReader& config, const Family& family) {
  config.ignore("is_encoder_decoder");
  const std::string_view from = family.defaults.name;
  Sizes sizes;
  sizes.layers = config.count_or({"decoder_num_hidden_layers", "num_hidden_layers"}, "layers",
                                 {family.defaults.layers, from});
  sizes.heads = config.count_or({"decoder_num_attention_heads", "num_attention_heads"}, "heads",
                                {family.defaults.heads, from});
  const auto kv_heads =
      config.count({"decoder_num_key_value_heads", "num_key_value_heads"}, "kv heads");
  sizes.kv_heads = kv_heads.value_or(sizes.heads);
  const Index width = read_width(config, family);
  if (width % sizes.heads != 0) {
    config.refuse(fmt::format("{} heads do not divide the width {}", sizes.heads, width));
  }
  sizes.head_dim = width / sizes.heads;
  return with_cross_attention(all_full(sizes), 0);
}

// T5: heads of d_kv, which times num_heads need not be d_model.
CacheSpec t5(ConfigReader& config, const Family& family) {
  config.ignore("is_encoder_decoder");
  Sizes sizes;
  const auto decoder = config.count({"num_decoder_layers"}, "layers");
  if (decoder) {
    sizes.layers = *decoder;
  } else if (family.model_type == "switch_transformers") {
    // The one class whose decoder does not follow num_layers.
    sizes.layers = config.count_or({"num_decoder_layers"}, "layers",
                                   {family.defaults.layers, family.defaults.name});
  } else {
    sizes.layers = config.count_or({"num_layers", "num_hidden_layers"}, "layers",
                                   {family.defaults.layers, family.defaults.name});
    config.note("layers", sizes.layers, "num_layers: no 'num_decoder_layers'");
  }
  sizes.heads = config.count_or({"num_heads", "num_attention_heads"}, "heads",
                                {family.defaults.heads, family.defaults.name});
  sizes.kv_heads = sizes.heads;
  sizes.head_dim =
      config.count_or({"d_kv"}, "head dim", {family.defaults.head_dim, family.defaults.name});
  return with_cross_attention(all_full(sizes), 0);
}

// Llama 3.2 Vision: these layers attend to the image and not to the text.
CacheSpec mllama(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  std::vector<Index> cross = {3, 8, 13, 18, 23, 28, 33, 38};
  if (const auto stated = config.numbers("cross_attention_layers")) {
    cross = *stated;
  } else {
    config.note("cross layers", static_cast<Index>(cross.size()), "default of MllamaTextConfig");
  }
  for (const Index layer : cross) {
    if (layer >= sizes.layers) {
      config.refuse(
          fmt::format("'cross_attention_layers' has {} of {} layers", layer, sizes.layers));
    }
  }
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    LayerCache layer = full_layer(sizes);
    if (std::find(cross.begin(), cross.end(), i) != cross.end()) {
      layer.kind = "cross";
      layer.rows.front().span = CacheRows::Span::kEncoder;
    }
    spec.add(layer);
  }
  return spec;
}

constexpr ClassDefaults kT5 = {"T5Config", 6, 8, 512, 0, 64};
constexpr ClassDefaults kBart = {"BartConfig", 12, 16, 1024};

constexpr std::array kFamilies = {
    Family{"bart", kBart, bart},
    Family{"bigbird_pegasus", {"BigBirdPegasusConfig", 16, 16, 1024}, bart},
    Family{"blenderbot", {"BlenderbotConfig", 24, 32, 2560}, bart},
    Family{"blenderbot-small", {"BlenderbotSmallConfig", 8, 16, 512}, bart},
    Family{"fsmt", {"FSMTConfig", 12, 16, 1024}, bart},
    Family{"led", {"LEDConfig", 12, 16, 1024}, bart},
    Family{"longt5", {"LongT5Config", 6, 8, 512, 0, 64}, t5},
    Family{"m2m_100", {"M2M100Config", 12, 16, 1024}, bart},
    Family{"marian", {"MarianConfig", 12, 16, 1024}, bart},
    Family{"mbart", {"MBartConfig", 12, 16, 1024}, bart},
    Family{"mllama_text_model", {"MllamaTextConfig", 40, 32, 4096, 8}, mllama},
    Family{"moonshine", {"MoonshineConfig", 6, 8, 288}, moonshine},
    Family{"mt5", {"MT5Config", 8, 6, 512, 0, 64}, t5},
    Family{"mvp", {"MvpConfig", 12, 16, 1024}, bart},
    Family{"nllb-moe", {"NllbMoeConfig", 12, 16, 1024}, bart},
    Family{"pegasus", {"PegasusConfig", 12, 16, 1024}, bart},
    Family{"pegasus_x", {"PegasusXConfig", 16, 16, 1024}, bart},
    Family{"plbart", {"PLBartConfig", 6, 12, 768}, bart},
    Family{"pop2piano", {"Pop2PianoConfig", 6, 8, 512, 0, 64}, t5},
    Family{"speech_to_text", {"Speech2TextConfig", 6, 4, 256}, bart},
    Family{"switch_transformers", {"SwitchTransformersConfig", 12, 12, 768, 0, 64}, t5},
    Family{"t5", kT5, t5},
    Family{"trocr", {"TrOCRConfig", 12, 16, 1024}, bart},
    Family{"udop", {"UdopConfig", 24, 16, 1024, 0, 64}, t5},
    Family{"umt5", {"UMT5Config", 8, 6, 512, 0, 64}, t5},
    Family{"whisper", {"WhisperConfig", 4, 6, 384}, whisper},
};

}  // namespace

CacheSpec with_cross_attention(CacheSpec spec, Index positions) {
  for (LayerRun& run : spec.layers) {
    if (run.layer.rows.size() != 1) continue;
    CacheRows cross = run.layer.rows.front();
    cross.span = CacheRows::Span::kEncoder;
    cross.limit = positions;
    run.layer.rows.push_back(cross);
    run.layer.kind = "self and cross";
  }
  return spec;
}

std::span<const Family> encoder_decoder_families() {
  return kFamilies;
}

}  // namespace attn
