#include "model/checkpoint.h"

#include <fmt/core.h>

#include "core/error.h"
#include "model/model_attributes.h"
#include "model/training_group.h"

namespace attn {
namespace {

// The attributes of /tokenizer that name special tokens.
constexpr std::pair<const char*, std::optional<Index> SpecialTokens::*> kSpecials[] = {
    {"bos", &SpecialTokens::bos},
    {"eos", &SpecialTokens::eos},
    {"pad", &SpecialTokens::pad},
    {"mask", &SpecialTokens::mask}};

void write_tokenizer(Hdf5Writer& writer, const Tokenizer& tokenizer) {
  const TokenizerData data = tokenizer.data();
  writer.group("/tokenizer");
  writer.attribute("/tokenizer", "kind", data.kind);
  writer.attribute("/tokenizer", "vocab_size", data.vocab_size);
  for (const auto& [name, role] : kSpecials) {
    const std::optional<Index>& id = data.specials.*role;
    if (id) writer.attribute("/tokenizer", name, *id);
  }
  for (const auto& entry : data.datasets) {
    writer.dataset("/tokenizer/" + entry.first, {static_cast<Index>(entry.second.size())},
                   entry.second.data());
  }
}

std::shared_ptr<const Tokenizer> read_tokenizer(const Hdf5Reader& reader, Index vocab_size) {
  if (!reader.has_group("/tokenizer")) return nullptr;
  TokenizerData data;
  const auto kind = reader.text_attribute("/tokenizer", "kind");
  const auto stated = reader.int_attribute("/tokenizer", "vocab_size");
  if (!kind || !stated) {
    throw DataError(
        fmt::format("{}: /tokenizer: wanted attributes kind and vocab_size, {} is missing",
                    reader.name(), kind ? "vocab_size" : "kind"));
  }
  data.kind = *kind;
  data.vocab_size = *stated;
  for (const auto& [name, role] : kSpecials) {
    data.specials.*role = reader.int_attribute("/tokenizer", name);
    if (data.specials.*role && (*(data.specials.*role) < 0 || *(data.specials.*role) >= *stated)) {
      throw DataError(fmt::format("{}: /tokenizer: attribute {}: wanted an id below {}, got {}",
                                  reader.name(), name, *stated, *(data.specials.*role)));
    }
  }
  constexpr Index kMostTables = 16;
  for (const std::string& name : reader.children("/tokenizer", kMostTables)) {
    data.datasets[name] = reader.read<std::uint8_t>("/tokenizer/" + name).values;
  }
  if (data.vocab_size != vocab_size) {
    throw DataError(fmt::format("{}: /tokenizer has {} tokens, the model {}", reader.name(),
                                data.vocab_size, vocab_size));
  }
  try {
    return make_tokenizer(data);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", reader.name(), error.what()));
  }
}

}  // namespace

void write_checkpoint(Hdf5Writer& writer, const Transformer<float>& model,
                      const Tokenizer* tokenizer, const TrainingState<float>* training) {
  writer.digest();
  for (const auto& attribute : model_attributes(model.config())) {
    std::visit([&](const auto& value) { writer.attribute("/", attribute.first, value); },
               attribute.second);
  }
  write_flat(writer, "/parameters", model.params(), model.params().values());
  if (tokenizer != nullptr) write_tokenizer(writer, *tokenizer);
  if (training != nullptr) write_training(writer, *training, model.params());
}

Checkpoint read_checkpoint(const Hdf5Reader& reader) {
  Checkpoint checkpoint;
  checkpoint.model = read_model<float>(reader);
  checkpoint.tokenizer = read_tokenizer(reader, checkpoint.model->config().vocab_size);
  checkpoint.training = read_training(reader, checkpoint.model->params());
  return checkpoint;
}

}  // namespace attn
