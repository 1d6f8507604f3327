#pragma once

#include <memory>
#include <optional>
#include <string>

#include "train/data_source.h"
#include "train/padded_batch.h"

namespace attn {

/// Sequences of their own: lines of a file, rows of a table of ids.
class Documents {
 public:
  virtual ~Documents() = default;

  virtual Index size() const = 0;
  virtual std::vector<Index> tokens(Index document) const = 0;
  /// "names.txt: line 17", for messages.
  virtual std::string where(Index document) const = 0;
};

/// Which of `count` items are held out: a share of a fixed shuffle, the same for every seed. At
/// least one is, and one is not: throws DataError for fewer than two, called `what` ("names.txt:
/// lines").
struct HeldOut {
  std::vector<Index> training, held_out;  // in the shuffle's order
};
HeldOut hold_out(Index count, double share, const std::string& what);

/// Documents as batches, each padded to its longest: a document stands between BOS and EOS where
/// there are such tokens, and each token is to be followed by the next.
class DocumentData : public DataSource {
 public:
  struct Settings {
    Index vocab_size = 0;
    std::optional<Index> bos, eos;
    Index pad = 0;
    std::optional<Index> seq_len;  // at most; unset: as the longest document needs
    double held_out = 0.1;
    Index most_documents = 256;  // of an evaluation; 0: all that are held out
    std::uint64_t seed = 0;
  };

  /// `name` calls all of them in messages. Throws DataError for a document longer than seq_len
  /// allows (with its place), for one without a token to predict, and for fewer than two.
  DocumentData(std::shared_ptr<const Documents> documents, const Settings& settings,
               const std::string& name);

  Index vocab_size() const override { return settings_.vocab_size; }
  Index seq_len() const override { return seq_len_; }
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  const Batch* training_sample() const override { return &sample_; }

  Index training_documents() const { return static_cast<Index>(split_.training.size()); }
  Index held_out_documents() const { return static_cast<Index>(split_.held_out.size()); }
  /// As TextWindows::unigram_entropy(), ends included.
  double unigram_entropy() const;

 private:
  BatchRow row_of(Index document) const;
  Batch rows_of(const std::vector<Index>& documents, Index most) const;
  std::vector<Index> target_counts(const std::vector<Index>& documents) const;

  std::shared_ptr<const Documents> documents_;
  Settings settings_;
  HeldOut split_;
  Index seq_len_ = 0;
  Batch evaluation_;
  Batch sample_;
};

}  // namespace attn
