#pragma once

#include <memory>
#include <optional>

#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "model/training_state.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// A checkpoint as it is read.
struct Checkpoint {
  std::unique_ptr<Transformer<float>> model;
  std::shared_ptr<const Tokenizer> tokenizer;    // null where the file has none
  std::optional<TrainingState<float>> training;  // with moments where the file has them
};

/// The `format` of a checkpoint, for write_provenance.
inline constexpr const char* kCheckpointFormat = "attntools-checkpoint";

/// Writes the architecture as root attributes, /parameters, and what is not null of /tokenizer,
/// /training and /optimizer, under a content digest. Format, history and seed are the program's to
/// add, by write_provenance.
void write_checkpoint(Hdf5Writer& writer, const Transformer<float>& model,
                      const Tokenizer* tokenizer, const TrainingState<float>* training);

/// Reads what write_checkpoint writes, every number to the bit, and any file with the same
/// attributes and parameters; a `format` is not demanded, but must be right where there is one.
/// Every size is checked against the architecture before memory is taken. DataErrors name file,
/// dataset, the shape wanted and the shape found.
Checkpoint read_checkpoint(const Hdf5Reader& reader);

/// The architecture alone: root attributes under the names of ModelConfig's fields.
ModelConfig read_model_config(const Hdf5Reader& reader);
/// Architecture and parameters. Throws DataError for a parameter that is missing, of another shape,
/// unknown, or not finite.
template <class T>
std::unique_ptr<Transformer<T>> read_model(const Hdf5Reader& reader);

}  // namespace attn
