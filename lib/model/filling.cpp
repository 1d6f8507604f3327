#include "model/filling.h"

#include <limits>

#include "core/error.h"
#include "model/token_checks.h"

namespace attn {

template <class T>
Filling fill_masks(const Transformer<T>& model, std::span<const Index> ids,
                   const FillSettings& settings) {
  const ModelConfig& config = model.config();
  require_shape(config.arch == Arch::kEncoder, "fill masks: the model is no encoder");
  require_shape(settings.mask >= 0 && settings.mask < config.vocab_size, "fill masks: the mask");
  check_tokens(ids, config.vocab_size, "prompt");
  check_positions(config, ids, "prompt");

  Workspace work(settings.threads);
  const Arena::Scope scope(work.arena());
  TokenInput input;
  input.ids = ids;
  input.rows.seq_len = static_cast<Index>(ids.size());
  const Matrix<T> logits = model.forward(model.pass(work), input, nullptr, nullptr);

  Filling result;
  result.ids.assign(ids.begin(), ids.end());
  for (Index place = 0; place < logits.rows(); ++place) {
    Index& id = result.ids[static_cast<std::size_t>(place)];
    if (id != settings.mask) continue;
    std::vector<T> row(logits.row(place), logits.row(place) + logits.cols());
    const std::vector<T> own = row;
    // Training never asks for the mask, so its logit means nothing.
    row[static_cast<std::size_t>(settings.mask)] = -std::numeric_limits<T>::infinity();
    id = choose_token<T>(row, {}, settings.sampling, place);
    result.places.push_back(place);
    result.log_probs.push_back(log_probability<T>(own, id));
    if (settings.alternatives > 0) {
      result.alternatives.push_back(likeliest<T>(own, settings.alternatives));
    }
  }
  return result;
}

template Filling fill_masks<float>(const Transformer<float>&, std::span<const Index>,
                                   const FillSettings&);
template Filling fill_masks<double>(const Transformer<double>&, std::span<const Index>,
                                    const FillSettings&);

}  // namespace attn
