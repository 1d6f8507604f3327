#include "model/checkpoint.h"

#include "model/model_attributes.h"
#include "model/rope_attributes.h"
#include "model/tokenizer_group.h"
#include "model/training_group.h"

namespace attn {

void write_checkpoint(Hdf5Writer& writer, const Transformer<float>& model,
                      const Tokenizer* tokenizer, const TrainingState<float>* training) {
  writer.digest();
  for (const auto& attribute : model_attributes(model.config())) {
    std::visit([&](const auto& value) { writer.attribute("/", attribute.first, value); },
               attribute.second);
  }
  write_rope_scaling(writer, model.config());
  write_flat(writer, "/parameters", model.params(), model.params().values());
  if (tokenizer != nullptr) write_tokenizer(writer, *tokenizer);
  if (training != nullptr) write_training(writer, *training, model.params());
}

Checkpoint read_checkpoint(const Hdf5Reader& reader) {
  Checkpoint checkpoint;
  checkpoint.model = read_model<float>(reader);
  checkpoint.tokenizer = read_tokenizer(reader, checkpoint.model->config().vocab_size, "the model");
  checkpoint.training = read_training(reader, checkpoint.model->params());
  return checkpoint;
}

}  // namespace attn
