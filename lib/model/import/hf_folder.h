#pragma once

#include <string>
#include <vector>

#include "io/safetensors_folder.h"
#include "model/import/hf_config.h"
#include "model/import/hf_tokenizer.h"

namespace attn {

/// A model in Hugging Face's form, opened: its configuration is read, its tensors are listed.
struct HfFolder {
  HfConfig config;
  SafetensorsFolder files;
  HfTokenizer tokenizer;
};

/// Of a folder (its config.json, weights, and where they are there generation_config.json and the
/// tokenizer's files), or of one safetensors file ("-" is stdin), whose other files lie beside its
/// configuration. `config_file` is the configuration; empty: config.json in the folder or beside
/// the file. max_bytes: of all weights together, and of each other file. Throws as those that read
/// the parts.
HfFolder open_hf_folder(const std::string& argument, const std::string& config_file,
                        Index max_bytes);

}  // namespace attn
