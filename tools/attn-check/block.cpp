#include "attn-check/block.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "attn-check/layer.h"
#include "check/layer/kernel_layer.h"
#include "check/layer/layer_file.h"
#include "check/layer/model_layer.h"
#include "core/error.h"
#include "io/output.h"
#include "io/provenance.h"
#include "io/tensor_argument.h"
#include "model/checkpoint.h"

namespace attn {
namespace {

// Whole numbers typed or of a file, as (batch, tokens).
Tensor<Index> ids_of(const std::string& value, const char* option, const ReadLimits& limits) {
  const Tensor<double> numbers = tensor_argument(value, option, limits);
  Tensor<Index> ids;
  ids.shape = numbers.shape.size() == 1 ? Shape{1, numbers.size()} : numbers.shape;
  for (const double number : numbers.values) {
    const auto id = static_cast<Index>(number);
    if (static_cast<double>(id) != number) {
      throw UsageError(fmt::format("{}: want whole numbers, got {}", option, number));
    }
    ids.values.push_back(id);
  }
  return ids;
}

void check_ids(const Tensor<Index>& ids, Index vocab_size, const char* what) {
  if (ids.rank() != 2 || ids.size() == 0) {
    throw UsageError(fmt::format("{}: want tokens, or (batch, tokens)", what));
  }
  for (const Index id : ids.values) {
    if (id >= 0 && id < vocab_size) continue;
    throw UsageError(fmt::format("{}: want 0 to {}, got {}", what, vocab_size - 1, id));
  }
}

BlockTokens tokens_of(const Hdf5Reader& file, const ModelConfig& config, const CheckOptions& o) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  BlockTokens tokens;
  const auto mask = [&](const char* name, std::vector<std::uint8_t>& to) {
    if (file.has_dataset(name)) to = file.read<std::uint8_t>(name).values;
  };
  if (!o.prompt.empty()) {
    const std::shared_ptr<const Tokenizer> tokenizer = read_checkpoint(file).tokenizer;
    if (tokenizer == nullptr) {
      throw DataError(fmt::format("{}: no tokenizer for --prompt", file.name()),
                      {"--ids takes the tokens' numbers"});
    }
    const std::vector<Index> ids = tokenizer->encode(o.prompt);
    tokens.ids = Tensor<Index>({1, static_cast<Index>(ids.size())}, ids);
  } else if (!o.ids.empty()) {
    tokens.ids = ids_of(o.ids, "--ids", limits);
  } else if (file.has_dataset("/input/ids")) {
    tokens.ids = file.read<Index>("/input/ids");
    mask("/input/padding_mask", tokens.key_mask);
  } else {
    throw UsageError("--block needs tokens", {"--ids '2 0 1 4' or --prompt TEXT"});
  }
  check_ids(tokens.ids, config.vocab_size, "--ids");
  if (config.arch != Arch::kEncoderDecoder) return tokens;
  if (!o.source_ids.empty()) {
    tokens.source = ids_of(o.source_ids, "--source-ids", limits);
  } else if (file.has_dataset("/input/source")) {
    tokens.source = file.read<Index>("/input/source");
    mask("/input/source_mask", tokens.source_mask);
  } else {
    throw UsageError("--block of an encoder-decoder needs --source-ids");
  }
  check_ids(tokens.source, config.source_vocab_size, "--source-ids");
  if (tokens.source.dim(0) != tokens.ids.dim(0)) {
    throw UsageError("--source-ids: want as many sequences as --ids");
  }
  return tokens;
}

}  // namespace

int run_block(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input, o.dump});
  const ReadLimits limits{.max_bytes = o.max_bytes};
  const Hdf5Reader file = Hdf5Reader::open(o.input, limits);
  const auto model = read_model<double>(file);
  const BlockPlace place = parse_block(o.block, model->config());
  const BlockTokens tokens = tokens_of(file, model->config(), o);
  if (const auto longest = model->config().longest_sequence();
      longest && tokens.ids.dim(1) > *longest) {
    throw UsageError(fmt::format("--ids: {} tokens: {}", tokens.ids.dim(1),
                                 model->config().longest_sequence_reason()));
  }
  ModelLayer read = model_layer(*model, place, tokens);
  LayerCase& layer = read.layer;
  if (o.attributes.dtype) layer.problem.attention.rules.dtype = *o.attributes.dtype;
  std::string name = fmt::format("{}: {}", file.name(), place.module());
  if (!o.dump.empty()) {
    const TensorFile dump = TensorFile::open(o.dump, limits);
    read_layer_steps(dump, merged(o.attributes, read_layer_rules(dump)),
                     merged(o.layer, read_layer_attributes(dump)), layer_names(o), limits, layer);
    name += fmt::format(", as {} recorded it", dump.name());
  } else {
    std::string why;
    if (auto own = kernel_layer(layer.problem, why)) {
      layer.recorded = std::move(*own);
      layer.qk_stage = QkStage::kRotated;
      name += ", as this library computes it";
    }
  }
  LayerSettings settings;
  settings.threads = static_cast<int>(o.threads);
  settings.raw_x = std::move(read.raw_x);
  return report_layer(name, read_history(file), layer, check_layer(layer, settings), o, session);
}

}  // namespace attn
