#include "model/transformer.h"

#include <algorithm>

#include "core/parallel.h"

namespace attn {
namespace {

ModelConfig checked(const ModelConfig& config) {
  ModelConfig full = config.completed();
  full.validate();
  count_parameters(full);  // refuses what leaves 63 bits
  return full;
}

// The parts of a transformer, registered in the order of its parameters.
template <class T>
struct Parts {
  std::optional<Stack<T>> encoder, decoder;
  std::optional<Linear<T>> head;

  Parts(ParamStore<T>& store, const ModelConfig& c) {
    std::shared_ptr<const Rotary<T>> rotary;
    if (c.position == Position::kRope) {
      rotary =
          std::make_shared<const Rotary<T>>(c.head_dim, c.rope_base, c.rope_style, c.rope_scaling);
    }
    if (c.arch == Arch::kEncoderDecoder) {
      encoder.emplace(
          store, c,
          typename Stack<T>::Shape{"encoder.", c.source_vocab_size, c.encoder_depth, false, false},
          rotary);
      decoder.emplace(store, c,
                      typename Stack<T>::Shape{"decoder.", c.vocab_size, c.depth, true, true},
                      rotary);
    } else {
      decoder.emplace(
          store, c,
          typename Stack<T>::Shape{"", c.vocab_size, c.depth, c.arch == Arch::kDecoder, false},
          rotary);
    }
    if (c.tie_embeddings) {
      head.emplace(decoder->tokens().weight());
    } else {
      head.emplace(store, "head", c.dim, c.vocab_size, c.head_bias);
    }
  }
};

}  // namespace

std::vector<ParamInfo> parameter_layout(const ModelConfig& config) {
  ParamStore<float> store;
  const Parts<float> parts(store, config);
  return store.list();
}

template <class T>
Transformer<T>::Transformer(const ModelConfig& config) : config_(checked(config)) {
  Parts<T> parts(params_, config_);
  encoder_ = std::move(parts.encoder);
  decoder_ = std::move(parts.decoder);
  head_ = std::move(parts.head);
  params_.allocate();
}

template <class T>
KvCache<T> Transformer<T>::make_cache(Index batch, Index capacity, Index context,
                                      const KvLayout& layout) const {
  require_shape(config_.arch != Arch::kEncoder, "transformer: an encoder has no cache");
  require_shape(encoder_.has_value() == (context > 0), "transformer: context of the cache");
  KvShape shape;
  shape.layers = config_.depth;
  shape.batch = batch;
  shape.capacity = capacity;
  shape.kv_heads = config_.kv_heads;
  shape.head_dim = config_.head_dim;
  shape.layout = layout;
  return KvCache<T>(shape, context);
}

template <class T>
Matrix<T> Transformer<T>::forward(const Pass<T>& pass, const TokenInput& input, KvCache<T>* cache,
                                  TransformerTape<T>* tape, LogitRows which) const {
  require_shape(encoder_.has_value() == !input.source.empty(), "transformer: source");
  require_shape(which == LogitRows::kAll || tape == nullptr, "transformer: a tape of last rows");
  Matrix<T> made;
  const auto compute = [&] { made = logits(pass, input, cache, tape, which); };
  // Of a token, the loops that threads share are some microseconds long, and so is what lies
  // between them. Where a block's largest product is not worth threads, the few loops that still
  // are, as of logits or a long context, may wake their own.
  const int threads =
      pass.work.threads_for_product(input.rows.rows(), config_.dim * config_.mlp_hidden);
  keep_workers_awake(threads, compute);
  return made;
}

template <class T>
Matrix<T> Transformer<T>::logits(const Pass<T>& pass, const TokenInput& input, KvCache<T>* cache,
                                 TransformerTape<T>* tape, LogitRows which) const {
  const Sequences& rows = input.rows;
  Context<T> context;
  if (encoder_) {
    context.rows = input.source_rows;
    const bool remembered =
        cache != nullptr && cache->cross(0) != nullptr && cache->cross(0)->length() > 0;
    if (!remembered) {
      context.x = encoder_->forward(pass, input.source, input.source_rows, nullptr, nullptr,
                                    tape != nullptr ? &tape->encoder : nullptr);
    }
  }
  const Matrix<T> features =
      decoder_->forward(pass, input.ids, rows, encoder_ ? &context : nullptr, cache,
                        tape != nullptr ? &tape->decoder : nullptr, which);
  if (tape != nullptr) {
    tape->memory = context.x;
    tape->features = features;
  }
  return head_->forward(pass, features);
}

template <class T>
void Transformer<T>::backward(const BackwardPass<T>& pass, const TransformerTape<T>& tape,
                              In<T> d_logits) const {
  const Arena::Scope scope(pass.arena);
  const Matrix<T> d_features = head_->backward(pass, tape.features, d_logits);
  Matrix<T> d_memory;
  if (encoder_) d_memory = pass.arena.template zeros<T>(tape.memory.rows(), tape.memory.cols());
  decoder_->backward(pass, tape.decoder, d_features, d_memory);
  if (encoder_) encoder_->backward(pass, tape.encoder, d_memory, {});
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace attn
