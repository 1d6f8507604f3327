#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/safetensors_folder.h"
#include "model/import/hf_config.h"
#include "model/transformer.h"

namespace attn {

/// What becomes of one tensor of the files.
struct ImportLine {
  SafetensorsPlace place;
  HfMapping mapping;
};

/// What an import will do; no memory has been taken for numbers.
struct ImportPlan {
  HfConfig config;
  std::vector<ImportLine> lines;         ///< in the model's order
  std::vector<std::string> passed_over;  ///< known buffers, and the head where it is tied
  std::vector<std::string> notes;        ///< what people should know
};

/// Holds the files to the configuration: every tensor that it asks for is there, of its shape and
/// of a float type, and there is no other but known buffers. A head that is not there or equal to
/// the embedding is tied, another is the model's own; a Llama whose configuration does not tie it
/// must have one. Throws DataError that names all names that are not understood or missing; of
/// more than a page of them, how many more there are.
ImportPlan plan_import(const HfConfig& config, const SafetensorsFolder& files);

/// The model. Throws DataError for a number that is not finite, and where memory is too small.
std::unique_ptr<Transformer<float>> import_model(const ImportPlan& plan);

}  // namespace attn
