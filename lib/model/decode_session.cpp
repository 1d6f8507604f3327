#include "model/decode_session.h"

#include <algorithm>

#include "core/error.h"

namespace attn {
namespace {

// `one`, `count` times.
template <class Value>
void repeat(const std::vector<Value>& one, Index count, std::vector<Value>& all) {
  all.clear();
  for (Index i = 0; i < count; ++i) all.insert(all.end(), one.begin(), one.end());
}

}  // namespace

template <class T>
DecodeSession<T>::DecodeSession(const Transformer<T>& model, const SessionSettings& settings)
    : model_(model), settings_(settings), work_(settings.threads) {
  require_shape(model.config().arch == Arch::kDecoder, "decode session: the model is no decoder");
  begin(0);
}

template <class T>
DecodeSession<T>::DecodeSession(const Transformer<T>& model, const SourceTokens& source,
                                const SessionSettings& settings)
    : model_(model),
      settings_(settings),
      work_(settings.threads),
      one_source_(source.ids.begin(), source.ids.end()),
      one_mask_(source.mask.begin(), source.mask.end()) {
  require_shape(model.config().arch == Arch::kEncoderDecoder,
                "decode session: a source for a model that reads none");
  require_shape(!one_source_.empty(), "decode session: no source");
  require_shape(one_mask_.empty() || one_mask_.size() == one_source_.size(),
                "decode session: length of the source's mask");
  begin(static_cast<Index>(one_source_.size()));
}

template <class T>
void DecodeSession<T>::begin(Index context) {
  require_shape(settings_.window >= 0 && settings_.prefill_chunk >= 0,
                "decode session: a negative window or chunk");
  source_ = one_source_;
  mask_ = one_mask_;
  if (!settings_.use_cache) return;
  const Index rows =
      settings_.window > 0 ? std::min(settings_.window, settings_.capacity) : settings_.capacity;
  cache_.emplace(model_.make_cache(1, rows, context, settings_.layout));
}

template <class T>
std::span<const T> DecodeSession<T>::feed(std::span<const Index> ids) {
  require_shape(sequences() == 1, "decode session: several sequences");
  const Matrix<const T> logits = feed_each(ids);
  return {logits.row(0), static_cast<std::size_t>(logits.cols())};
}

template <class T>
Matrix<const T> DecodeSession<T>::feed_each(std::span<const Index> ids) {
  require_shape(!ids.empty() && static_cast<Index>(ids.size()) % sequences() == 0,
                "decode session: no tokens, or not as many for each sequence");
  const std::size_t count = ids.size() / ids_.size();
  require_shape(length_ + static_cast<Index>(count) <= settings_.capacity,
                "decode session: beyond its capacity");
  for (std::vector<Index>& one : ids_) {
    one.insert(one.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    ids = ids.subspan(count);
  }
  Index first = cache_ ? length_ : 0;
  length_ += static_cast<Index>(count);
  if (settings_.window > 0 && length_ > settings_.window) {
    first = length_ - settings_.window;
    // What the cache remembers was computed from tokens that have left the window.
    if (cache_) cache_->forget_rows();
  }
  const Index chunk = cache_ && settings_.prefill_chunk > 0 ? settings_.prefill_chunk : length_;
  for (; first < length_; first += chunk) compute(first, std::min(chunk, length_ - first));
  return logits_.matrix();
}

// One pass over the tokens first .. first + count - 1 of every sequence.
template <class T>
void DecodeSession<T>::compute(Index first, Index count) {
  fed_.clear();
  for (const std::vector<Index>& one : ids_) {
    fed_.insert(fed_.end(), one.begin() + first, one.begin() + first + count);
  }
  const Arena::Scope scope(work_.arena());
  KeyRowCounts counts;
  Pass<T> pass = model_.pass(work_);
  pass.counts = &counts;
  TokenInput input;
  input.ids = fed_;
  input.rows = {sequences(), count, nullptr};
  if (!one_source_.empty()) {
    input.source = source_;
    input.source_rows = {sequences(), static_cast<Index>(one_source_.size()),
                         mask_.empty() ? nullptr : mask_.data()};
  }
  const Matrix<T> logits =
      model_.forward(pass, input, cache_ ? &*cache_ : nullptr, nullptr, LogitRows::kLast);
  for (const auto& [name, rows] : counts.rows) counts_.add(name, rows * sequences());
  logits_.shape = {logits.rows(), logits.cols()};
  logits_.values.assign(logits.data(), logits.data() + logits.size());
}

template <class T>
void DecodeSession<T>::fork(std::span<const Index> parents) {
  require_shape(!parents.empty(), "decode session: a fork into no sequence");
  bool same = static_cast<Index>(parents.size()) == sequences();
  for (std::size_t i = 0; i < parents.size(); ++i) {
    require_shape(parents[i] >= 0 && parents[i] < sequences(),
                  "decode session: a fork of no sequence");
    same = same && parents[i] == static_cast<Index>(i);
  }
  if (same) return;
  std::vector<std::vector<Index>> forked;
  forked.reserve(parents.size());
  for (const Index parent : parents) forked.push_back(ids_[static_cast<std::size_t>(parent)]);
  ids_ = std::move(forked);
  if (cache_) cache_->fork(parents);
  repeat(one_source_, sequences(), source_);
  repeat(one_mask_, sequences(), mask_);
}

template class DecodeSession<float>;
template class DecodeSession<double>;

}  // namespace attn
