#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "train/data_source.h"
#include "train/masking.h"
#include "train/token_stream.h"

namespace attn {

/// Windows of a text's tokens. The last part of the text is held out: training windows are drawn
/// anywhere before it, evaluation runs over fixed windows in it. What is to be said is the next
/// token at each, or with a masking the tokens that it hides.
class TextWindows : public DataSource {
 public:
  struct Settings {
    Index seq_len = 64;
    double held_out = 0.1;     // share of the tokens, from the end
    Index most_windows = 256;  // of an evaluation, spread evenly over the held-out part; 0: all
    std::optional<Masking> masking = {};  // of an encoder
    std::uint64_t seed = 0;
  };

  /// `name` calls the text in messages. Throws DataError where either part is shorter than a window
  /// and its next token.
  TextWindows(std::shared_ptr<const TokenStream> tokens, const Settings& settings,
              const std::string& name);
  TextWindows(std::vector<Index> tokens, Index vocab_size, const Settings& settings,
              const std::string& name);

  /// A mask may be one id more than the text has.
  Index vocab_size() const override;
  Index seq_len() const override { return settings_.seq_len; }
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  const Batch* training_sample() const override { return &sample_; }

  Index training_tokens() const { return training_; }
  Index held_out_tokens() const { return tokens_->size() - training_; }
  /// Mean nats per held-out token of guessing by the training part's frequencies alone: what a
  /// model must beat to have learned from context. Tokens never seen in training count as once.
  double unigram_entropy() const;

 private:
  Index window() const;
  Batch empty_batch(Index batch) const;
  void put_window(Batch& batch, Index row, Index first, Rng& rng) const;
  Batch spread(Index first, Index tokens, Index most) const;

  std::shared_ptr<const TokenStream> tokens_;
  Settings settings_;
  Index training_ = 0;
  Batch evaluation_;
  Batch sample_;
};

}  // namespace attn
