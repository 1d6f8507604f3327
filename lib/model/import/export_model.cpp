#include "model/import/export_model.h"

#include <algorithm>
#include <cstring>

#include "io/safetensors_writer.h"
#include "model/import/hf_config.h"
#include "model/import/hf_tokenizer.h"
#include "model/import/move_tensor.h"

namespace attn {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string dtype_word(DType dtype) {
  return dtype == DType::kF32 ? "float32" : dtype == DType::kF16 ? "float16" : "bfloat16";
}

// Features 0, 2, 4 ... of each head before 1, 3, 5 ...: pairs of neighbours become pairs of halves.
void halves_from_pairs(const ParamInfo& info, Index head_dim, float* values) {
  const Index inputs = info.shape.size() == 2 ? info.shape.back() : 1;
  const Index half = head_dim / 2;
  const std::vector<float> before(values, values + info.place.size());
  for (Index row = 0; row < info.shape.front(); ++row) {
    const Index head = row / head_dim * head_dim;
    const Index feature = row % head_dim;
    const Index from = head + (feature < half ? 2 * feature : 2 * (feature - half) + 1);
    std::copy_n(before.data() + from * inputs, inputs, values + row * inputs);
  }
}

bool is_turned(const std::string& parameter) {
  return parameter.find(".attn.q_proj.") != std::string::npos ||
         parameter.find(".attn.k_proj.") != std::string::npos;
}

}  // namespace

std::vector<ExportedFile> export_model(const Transformer<float>& model, const Tokenizer* tokenizer,
                                       DType dtype) {
  const ModelConfig& config = model.config();
  const HfFamily& family = hf_family_of(config);
  std::vector<float> values(model.params().values(),
                            model.params().values() + model.params().size());
  if (config.position == Position::kRope && config.rope_style == RopePairs::kInterleaved) {
    for (const ParamInfo& info : model.params().list()) {
      if (is_turned(info.name)) {
        halves_from_pairs(info, config.head_dim, values.data() + info.place.offset);
      }
    }
  }
  const std::vector<HfMapping> mappings = hf_mappings(family, config);
  std::vector<SafetensorsTensor> tensors;
  tensors.reserve(mappings.size());
  for (const HfMapping& mapping : mappings) {
    tensors.push_back({hf_full_name(family, mapping.name), mapping.shape});
  }
  SafetensorsWriter writer(tensors, dtype);
  std::vector<float> stored;
  for (const HfMapping& mapping : mappings) {
    stored.resize(static_cast<std::size_t>(*checked_product(mapping.shape)));
    move_tensor(mapping, stored.data(), values.data(), MoveTo::kTheirs);
    writer.write(stored.data());
  }
  std::vector<ExportedFile> files;
  files.push_back({"model.safetensors", writer.finish()});
  SpecialTokens specials;
  if (tokenizer != nullptr) {
    specials = tokenizer->specials();
    for (const auto& [name, text] : hf_tokenizer_files(*tokenizer)) {
      files.push_back({name, bytes_of(text)});
    }
  }
  files.push_back(
      {"config.json", bytes_of(write_hf_config(family, config, specials, dtype_word(dtype)))});
  return files;
}

}  // namespace attn
