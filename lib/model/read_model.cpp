#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "model/checkpoint.h"
#include "model/rope_attributes.h"

namespace attn {
namespace {

constexpr std::string_view kParameters = "/parameters";

// The root attributes of one file, read under the names of ModelConfig's fields.
class Attributes {
 public:
  explicit Attributes(const Hdf5Reader& reader) : reader_(reader) {}

  Index count(const std::string& name) const {
    const auto value = reader_.int_attribute("/", name);
    if (!value) missing(name);
    return *value;
  }
  Index count(const std::string& name, Index otherwise) const {
    return reader_.int_attribute("/", name).value_or(otherwise);
  }
  double real(const std::string& name, double otherwise) const {
    return reader_.real_attribute("/", name).value_or(otherwise);
  }
  bool flag(const std::string& name, bool otherwise) const {
    const Index value = count(name, otherwise ? 1 : 0);
    if (value != 0 && value != 1) {
      throw DataError(
          fmt::format("{}: attribute {}: wanted 0 or 1, got {}", reader_.name(), name, value));
    }
    return value == 1;
  }
  template <class Enum>
  Enum choice(const std::string& name) const {
    const auto text = reader_.text_attribute("/", name);
    if (!text) missing(name);
    const auto value = parse_enum<Enum>(*text);
    if (value) return *value;
    std::string known;
    for (const std::string& word : enum_names<Enum>()) known += (known.empty() ? "" : ", ") + word;
    throw DataError(fmt::format("{}: attribute {}: wanted one of {}, got '{}'", reader_.name(),
                                name, known, escaped(*text)));
  }

 private:
  [[noreturn]] void missing(const std::string& name) const {
    throw DataError(
        fmt::format("{}: the architecture's attribute {} is missing", reader_.name(), name),
        {"a model file says its shape in root attributes: arch, vocab_size, dim, heads, depth, "
         "..."});
  }
  const Hdf5Reader& reader_;
};

// "--kv-heads must divide --heads" as a file would say it: "kv_heads must divide heads".
std::string as_attributes(std::string text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at)) {
    text.erase(at, 2);
    for (; at < text.size() && text[at] != ' '; ++at) {
      if (text[at] == '-') text[at] = '_';
    }
  }
  return text;
}

// Its version is the reader's business.
void check_format(const Hdf5Reader& reader) {
  const auto format = reader.text_attribute("/", "format");
  if (!format) return;
  if (*format != kCheckpointFormat) {
    throw DataError(fmt::format("{}: wanted a checkpoint, its format is '{}'", reader.name(),
                                escaped(*format)));
  }
}

// Holds the file to the layout, name by name, before memory is taken for it.
void check_parameters(const Hdf5Reader& reader, const std::vector<ParamInfo>& layout,
                      const std::vector<std::string>& found) {
  std::set<std::string_view> wanted;
  for (const ParamInfo& info : layout) {
    wanted.insert(info.name);
    const std::string path = fmt::format("{}/{}", kParameters, info.name);
    if (!reader.has_dataset(path)) {
      throw DataError(fmt::format("{}: {} is missing: wanted shape {}", reader.name(), path,
                                  shape_text(info.shape)));
    }
    const DatasetInfo stored = reader.info(path);
    if (stored.shape != info.shape) {
      throw DataError(fmt::format("{}: {}: wanted shape {}, got {}", reader.name(), path,
                                  shape_text(info.shape), shape_text(stored.shape)));
    }
  }
  for (const std::string& name : found) {
    if (wanted.count(name) == 0) {
      throw DataError(fmt::format("{}: {}/{} belongs to no part of the architecture", reader.name(),
                                  kParameters, escaped(name)));
    }
  }
}

}  // namespace

ModelConfig read_model_config(const Hdf5Reader& reader) {
  check_format(reader);
  const Attributes a(reader);
  ModelConfig c;
  c.arch = a.choice<Arch>("arch");
  c.vocab_size = a.count("vocab_size");
  c.source_vocab_size = a.count("source_vocab_size", 0);
  c.dim = a.count("dim");
  c.heads = a.count("heads");
  c.kv_heads = a.count("kv_heads", c.heads);
  c.head_dim = a.count("head_dim", 0);
  c.depth = a.count("depth");
  c.encoder_depth = a.count("encoder_depth", 0);
  c.mlp_hidden = a.count("mlp_hidden", 0);
  c.norm = a.choice<NormPlacement>("norm");
  c.final_norm = a.flag("final_norm", c.norm == NormPlacement::kPre);
  c.norm_type = a.choice<NormType>("norm_type");
  c.norm_eps = a.real("norm_eps", c.norm_eps);
  c.position = a.choice<Position>("position");
  if (c.position == Position::kRope) c.rope_style = a.choice<RopePairs>("rope_style");
  c.rope_base = a.real("rope_base", c.rope_base);
  c.rope_scaling = read_rope_scaling(reader);
  c.max_positions = a.count("max_positions", 0);
  c.activation = a.choice<MlpActivation>("activation");
  c.tie_embeddings = a.flag("tie_embeddings", false);
  c.bias = a.flag("bias", true);
  c.out_bias = a.flag("out_bias", c.bias);
  c.mlp_bias = a.flag("mlp_bias", c.bias);
  c.norm_bias = a.flag("norm_bias", true);
  c.head_bias = a.flag("head_bias", true);
  c.seq_len = a.count("seq_len", 0);
  try {
    c = c.completed();
    c.validate();
    count_parameters(c);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", reader.name(), as_attributes(error.what())));
  }
  return c;
}

template <class T>
std::unique_ptr<Transformer<T>> read_model(const Hdf5Reader& reader) {
  const ModelConfig config = read_model_config(reader);
  if (!reader.has_group(kParameters)) {
    throw DataError(fmt::format("{}: it has no group {}", reader.name(), kParameters));
  }
  const std::vector<std::string> found = reader.children(kParameters);
  // Each block has more than one parameter: a depth beyond their number is not even listed.
  const auto most = static_cast<Index>(found.size());
  if (config.depth > most || config.encoder_depth > most) {
    throw DataError(fmt::format("{}: depth {} does not fit the {} datasets in {}", reader.name(),
                                std::max(config.depth, config.encoder_depth), most, kParameters));
  }
  check_parameters(reader, parameter_layout(config), found);

  auto model = std::make_unique<Transformer<T>>(config);
  T* values = model->params().values();
  for (const ParamInfo& info : model->params().list()) {
    const std::string path = fmt::format("{}/{}", kParameters, info.name);
    T* first = values + info.place.offset;
    reader.read_rows<T>(path, 0, info.shape.front(), first);
    const T* last = first + info.place.size();
    const T* bad = std::find_if(first, values + info.place.offset + info.place.size(),
                                [](T value) { return !std::isfinite(value); });
    if (bad != last) {
      throw DataError(fmt::format("{}: {}: wanted finite numbers, element {} is {}", reader.name(),
                                  path, bad - first, *bad));
    }
  }
  return model;
}

template std::unique_ptr<Transformer<float>> read_model<float>(const Hdf5Reader&);
template std::unique_ptr<Transformer<double>> read_model<double>(const Hdf5Reader&);

}  // namespace attn
