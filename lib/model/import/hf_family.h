#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_config.h"
#include "model/transformer.h"

// What Hugging Face's library calls the parts of a model, family by family: one table, read by the
// import and by the export, so that the two cannot drift apart.

namespace attn {

/// One tensor of such a file. In all names {} is the number of a block.
struct HfTensor {
  std::string_view name;
  std::vector<std::string_view> holds;  ///< our parameters, one after another along the outputs
  bool transposed = false;              ///< stored as (inputs, outputs), as GPT-2's Conv1D does
};

/// A count of config.json.
struct HfCount {
  const char* key;
  Index ModelConfig::*field;
  bool optional = false;  ///< null or not there: as ModelConfig completes a 0
};

/// A word of config.json for an activation; of several for one, the first is written.
struct HfActivation {
  std::string_view word;
  MlpActivation activation;
};

/// A key whose other values change the mathematics in a way that is not built.
struct HfFixed {
  const char* key;
  bool value;
};

/// Which projections have a bias: all; those that attention_bias and mlp_bias say; none; those of
/// queries, keys and values.
enum class HfBiases { kAll, kByKeys, kNone, kQkv };

struct HfFamily {
  std::string_view model_type;
  std::string_view architecture;  ///< the class that loads it
  std::string_view prefix;        ///< that all names but the head's may have, and are written with
  std::string_view head;          ///< the head's name
  std::vector<HfTensor> tensors;
  std::vector<std::string_view> buffers;  ///< that are no parameters

  std::vector<HfCount> counts;
  const char* eps_key;
  double usual_eps;
  const char* activation_key;
  std::vector<HfActivation> activations;  ///< the first is the usual one
  std::vector<HfFixed> fixed;
  HfBiases biases;
  bool usually_tied;
  bool has_window = false;  ///< its class heeds sliding_window, whatever use_sliding_window says

  // What all its models have in common.
  Position position;
  NormType norm_type;
};

/// GPT-2, Llama, Mistral, Qwen2.
const std::vector<HfFamily>& hf_families();

/// Null for a model_type that is not known.
const HfFamily* find_hf_family(std::string_view model_type);

/// The family that a model of ours can be written as. Throws UsageError that says what of the model
/// has no place in the nearest one.
const HfFamily& hf_family_of(const ModelConfig& config);

/// One tensor of a model of this shape.
struct HfMapping {
  std::string name;  ///< without the prefix
  Shape shape;
  std::vector<ParamInfo> holds;
  bool transposed = false;
};

/// All tensors of a completed configuration, which hold every parameter of its layout once.
std::vector<HfMapping> hf_mappings(const HfFamily& family, const ModelConfig& config);

/// Tensors that each block has.
Index hf_tensors_per_block(const HfFamily& family, const ModelConfig& config);

/// The name with its prefix, as it is written.
std::string hf_full_name(const HfFamily& family, const std::string& name);
/// The name without the prefix that it may have.
std::string_view hf_bare_name(const HfFamily& family, std::string_view name);

/// True of a known buffer's name.
bool is_hf_buffer(const HfFamily& family, std::string_view bare_name);

}  // namespace attn
