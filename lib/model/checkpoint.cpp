#include "model/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

void write_config(Hdf5Writer& writer, const ModelConfig& c) {
  const auto flag = [](bool value) { return Index{value ? 1 : 0}; };
  writer.attribute("/", "arch", enum_name(c.arch));
  writer.attribute("/", "vocab_size", c.vocab_size);
  writer.attribute("/", "source_vocab_size", c.source_vocab_size);
  writer.attribute("/", "dim", c.dim);
  writer.attribute("/", "heads", c.heads);
  writer.attribute("/", "kv_heads", c.kv_heads);
  writer.attribute("/", "head_dim", c.head_dim);
  writer.attribute("/", "depth", c.depth);
  writer.attribute("/", "encoder_depth", c.encoder_depth);
  writer.attribute("/", "mlp_hidden", c.mlp_hidden);
  writer.attribute("/", "norm", enum_name(c.norm));
  writer.attribute("/", "final_norm", flag(*c.final_norm));
  writer.attribute("/", "norm_type", enum_name(c.norm_type));
  writer.attribute("/", "norm_eps", c.norm_eps);
  writer.attribute("/", "position", enum_name(c.position));
  writer.attribute("/", "rope_style",
                   c.position == Position::kRope ? enum_name(c.rope_style) : std::string("none"));
  writer.attribute("/", "rope_base", c.rope_base);
  writer.attribute("/", "max_positions", c.max_positions);
  writer.attribute("/", "activation", enum_name(c.activation));
  writer.attribute("/", "tie_embeddings", flag(c.tie_embeddings));
  writer.attribute("/", "bias", flag(c.bias));
  writer.attribute("/", "norm_bias", flag(c.norm_bias));
  writer.attribute("/", "head_bias", flag(c.head_bias));
  writer.attribute("/", "seq_len", c.seq_len);
}

// One dataset for each parameter, out of a flat buffer of the layout.
void write_flat(Hdf5Writer& writer, const std::string& group, const ParamStore<float>& params,
                const float* buffer) {
  writer.group(group);
  for (const ParamInfo& info : params.list()) {
    writer.dataset(group + "/" + info.name, info.shape, buffer + info.place.offset);
  }
}

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

template <class T>
void write_curve(Hdf5Writer& writer, const std::string& name, const std::vector<T>& values) {
  writer.dataset("/training/" + name, {static_cast<Index>(values.size())}, values.data());
}

void write_training(Hdf5Writer& writer, const TrainingState<float>& state) {
  writer.group("/training");
  writer.attribute("/training", "step", state.step);
  for (const auto& setting : state.settings) {
    std::visit([&](const auto& value) { writer.attribute("/training", setting.first, value); },
               setting.second);
  }
  if (!state.losses.empty()) {
    std::vector<Index> updates(state.losses.size());
    for (std::size_t i = 0; i < updates.size(); ++i) updates[i] = static_cast<Index>(i) + 1;
    write_curve(writer, "updates", updates);
    write_curve(writer, "losses", state.losses);
    writer.scale("/training/losses", 0, "/training/updates", "update");
  }
  if (!state.evaluations.empty()) {
    std::vector<Index> steps;
    std::vector<double> losses;
    std::vector<double> accuracies;
    for (const EvaluationPoint& point : state.evaluations) {
      steps.push_back(point.step);
      losses.push_back(point.loss);
      accuracies.push_back(point.accuracy);
    }
    write_curve(writer, "evaluation_steps", steps);
    write_curve(writer, "evaluation_losses", losses);
    write_curve(writer, "evaluation_accuracies", accuracies);
    for (const char* name : {"losses", "accuracies"}) {
      writer.scale(fmt::format("/training/evaluation_{}", name), 0, "/training/evaluation_steps",
                   "update");
    }
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

// A one-dimensional dataset of wanted length, or of any length for -1; empty where there is none.
template <class T>
std::vector<T> read_curve(const Hdf5Reader& reader, const std::string& name, Index wanted) {
  const std::string path = "/training/" + name;
  if (!reader.has_dataset(path)) {
    if (wanted <= 0) return {};
    throw DataError(fmt::format("{}: {} is missing", reader.name(), path));
  }
  const Shape shape = reader.info(path).shape;
  if (shape.size() != 1 || (wanted >= 0 && shape[0] != wanted)) {
    throw DataError(fmt::format("{}: {}: wanted shape {}, got {}", reader.name(), path,
                                wanted >= 0 ? fmt::format("({})", wanted) : "(n)",
                                shape_text(shape)));
  }
  return reader.read<T>(path).values;
}

std::vector<float> read_moment(const Hdf5Reader& reader, const std::string& group,
                               const ParamStore<float>& params) {
  std::vector<float> moment(static_cast<std::size_t>(params.size()));
  for (const ParamInfo& info : params.list()) {
    const std::string path = group + "/" + info.name;
    if (!reader.has_dataset(path)) {
      throw DataError(fmt::format("{}: {} is missing: wanted shape {}", reader.name(), path,
                                  shape_text(info.shape)));
    }
    const Shape shape = reader.info(path).shape;
    if (shape != info.shape) {
      throw DataError(fmt::format("{}: {}: wanted shape {}, got {}", reader.name(), path,
                                  shape_text(info.shape), shape_text(shape)));
    }
    float* first = moment.data() + info.place.offset;
    reader.read_rows<float>(path, 0, info.shape.front(), first);
    if (!std::all_of(first, first + info.place.size(), [](float x) { return std::isfinite(x); })) {
      throw DataError(fmt::format("{}: {}: wanted finite numbers", reader.name(), path));
    }
  }
  return moment;
}

std::optional<TrainingState<float>> read_training(const Hdf5Reader& reader,
                                                  const ParamStore<float>& params) {
  if (!reader.has_group("/training")) return std::nullopt;
  TrainingState<float> state;
  const auto step = reader.int_attribute("/training", "step");
  if (!step || *step < 0) {
    throw DataError(fmt::format("{}: /training: wanted an attribute step of at least 0, {}",
                                reader.name(),
                                step ? fmt::format("got {}", *step) : std::string("found none")));
  }
  state.step = *step;
  state.losses = read_curve<double>(reader, "losses", state.step);
  const auto steps = read_curve<Index>(reader, "evaluation_steps", -1);
  const auto count = static_cast<Index>(steps.size());
  const auto losses = read_curve<double>(reader, "evaluation_losses", count);
  const auto accuracies = read_curve<double>(reader, "evaluation_accuracies", count);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    state.evaluations.push_back({steps[i], losses[i], accuracies[i]});
  }
  if (reader.has_group("/optimizer")) {
    state.m = read_moment(reader, "/optimizer/m", params);
    state.v = read_moment(reader, "/optimizer/v", params);
  }
  return state;
}

}  // namespace

void write_checkpoint(Hdf5Writer& writer, const Transformer<float>& model,
                      const Tokenizer* tokenizer, const TrainingState<float>* training) {
  writer.digest();
  write_config(writer, model.config());
  write_flat(writer, "/parameters", model.params(), model.params().values());
  if (tokenizer != nullptr) write_tokenizer(writer, *tokenizer);
  if (training != nullptr) {
    write_training(writer, *training);
    if (!training->m.empty()) {
      write_flat(writer, "/optimizer/m", model.params(), training->m.data());
      write_flat(writer, "/optimizer/v", model.params(), training->v.data());
    }
  }
}

Checkpoint read_checkpoint(const Hdf5Reader& reader) {
  Checkpoint checkpoint;
  checkpoint.model = read_model<float>(reader);
  checkpoint.tokenizer = read_tokenizer(reader, checkpoint.model->config().vocab_size);
  checkpoint.training = read_training(reader, checkpoint.model->params());
  return checkpoint;
}

}  // namespace attn
