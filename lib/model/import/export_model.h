#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// A file of a model folder.
struct ExportedFile {
  std::string name;
  std::vector<std::byte> bytes;
};

/// A model in Hugging Face's form: model.safetensors, the tokenizer's files where it has that form,
/// config.json last. Names, shapes and orientation are the import's, turned round; rope on
/// neighbouring pairs becomes rope on halves by reordering the rows of queries and keys, which
/// moves no score. dtype is F32, F16 or BF16. Throws UsageError for a model that is of no family,
/// DataError for a number that the type cannot hold. tokenizer may be null.
std::vector<ExportedFile> export_model(const Transformer<float>& model, const Tokenizer* tokenizer,
                                       DType dtype);

}  // namespace attn
