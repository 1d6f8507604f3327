#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/decode_plan.h"
#include "bench/decode_subject.h"
#include "kvcache-bench/options.h"
#include "model/model_config.h"
#include "model/transformer.h"

namespace attn {

class Hdf5Reader;

/// The lengths asked for: given tokens, or every prompt with every number of new ones.
std::vector<DecodeWork> work_of(const BenchOptions& options);

/// Most tokens of any work; throws UsageError where it could not be counted.
Index capacity_of(const std::vector<DecodeWork>& work);

/// A whole model by shape, whose sequences have at most `longest` tokens.
ModelConfig shaped_model(const BenchOptions& options, Index kv_heads, Index longest);

/// What a checkpoint says of its model. Throws DataError where that is no decoder.
ModelConfig decoder_config(const Hdf5Reader& checkpoint);

/// The same model, whose tokens see `window` keys.
std::unique_ptr<Transformer<float>> windowed(std::unique_ptr<Transformer<float>> model,
                                             Index window);

/// What decodes: a checkpoint's model, whose file's history is returned too, or a model or a layer
/// for each number of key-value heads. Throws DataError where memory would not do.
std::vector<std::unique_ptr<DecodeSubject>> make_subjects(const BenchOptions& options,
                                                          Index capacity, std::string& history);

}  // namespace attn
