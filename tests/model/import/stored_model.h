#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/safetensors_writer.h"
#include "model/configurations.h"
#include "model/import/export_model.h"
#include "model/import/import_model.h"

// Small models in Hugging Face's form, in memory, to be changed and read.

namespace attn::testing {

using nlohmann::json;

inline json gpt2_json() {
  return {{"model_type", "gpt2"}, {"n_embd", 8},        {"n_head", 2},     {"n_layer", 1},
          {"n_positions", 8},     {"n_inner", nullptr}, {"vocab_size", 11}};
}

inline json llama_json() {
  return {{"model_type", "llama"},
          {"hidden_size", 8},
          {"intermediate_size", 12},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 4},
          {"max_position_embeddings", 16},
          {"vocab_size", 11},
          {"rms_norm_eps", 1e-5}};
}

inline HfConfig read(const json& object) {
  return read_hf_config(object.dump(), "config.json");
}

// A model folder in memory.
struct Stored {
  json config;
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;

  explicit Stored(const Transformer<float>& model) {
    for (ExportedFile& file : export_model(model, nullptr, DType::kF32)) {
      if (file.name == "config.json") {
        config = json::parse(as_text(file.bytes));
        continue;
      }
      const SafetensorsFile weights = SafetensorsFile::from_bytes(std::move(file.bytes), "w");
      for (const SafetensorsEntry& entry : weights.entries()) {
        auto& tensor = tensors[entry.name];
        tensor.first = entry.shape;
        tensor.second.resize(static_cast<std::size_t>(*checked_product(entry.shape)));
        weights.read(entry, tensor.second.data());
      }
    }
  }
  SafetensorsFolder files() const {
    std::vector<SafetensorsTensor> list;
    for (const auto& [name, tensor] : tensors) list.push_back({name, tensor.first});
    SafetensorsWriter writer(list, DType::kF32);
    for (const auto& entry : tensors) writer.write(entry.second.second.data());
    return SafetensorsFolder::of(SafetensorsFile::from_bytes(writer.finish(), "w.safetensors"));
  }
  std::unique_ptr<Transformer<float>> model() const {
    const SafetensorsFolder stored = files();
    return import_model(plan_import(read(config), stored));
  }
  std::string refusal() const {
    try {
      model();
    } catch (const DataError& error) {
      return error.what();
    }
    return "(accepted)";
  }
};

inline Stored a_gpt2(bool tied = true) {
  ModelConfig config = read(gpt2_json()).model;
  config.tie_embeddings = tied;
  Transformer<float> model(config);
  scramble(model.params(), 3);
  return Stored(model);
}

inline Stored a_llama(bool tied = false) {
  ModelConfig config = read(llama_json()).model;
  config.tie_embeddings = tied;
  Transformer<float> model(config);
  scramble(model.params(), 4);
  return Stored(model);
}

}  // namespace attn::testing
