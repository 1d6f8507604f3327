#pragma once

#include <string_view>

#include "text/tokenizer.h"
#include "train/documents.h"
#include "train/pairs.h"
#include "train/text_scan.h"

namespace attn {

/// The lines of a text's files, without their ends ("\n" or "\r\n"); empty ones are left out. They
/// stay in the files.
class TextLines {
 public:
  explicit TextLines(const TextScan& scan);

  Index size() const { return static_cast<Index>(lines_.size()); }
  std::string_view line(Index index) const { return lines_[static_cast<std::size_t>(index)]; }
  /// "names.txt: line 17", counting from 1 and empty ones too.
  std::string where(Index index) const;

 private:
  std::vector<std::shared_ptr<const ByteSource>> files_;
  std::vector<std::string_view> lines_;
};

/// Each line a document.
class LineDocuments : public Documents {
 public:
  LineDocuments(TextLines lines, std::shared_ptr<const Tokenizer> tokenizer)
      : lines_(std::move(lines)), tokenizer_(std::move(tokenizer)) {}

  Index size() const override { return lines_.size(); }
  /// Throws DataError for what the tokenizer does not know.
  std::vector<Index> tokens(Index document) const override;
  std::string where(Index document) const override { return lines_.where(document); }

 private:
  TextLines lines_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// Each line a source, a tab and a target.
class LinePairs : public PairMaker {
 public:
  struct Settings {
    std::optional<Index> longest;  // tokens of either side; unset: as they are
    double held_out = 0.1;
    Index most_pairs = 256;  // of an evaluation; 0: all that are held out
  };

  /// Throws DataError, with the line's place, for a line that is no such pair or too long, for what
  /// the tokenizer does not know, and for fewer than two lines.
  LinePairs(TextLines lines, std::shared_ptr<const Tokenizer> tokenizer, const Settings& settings,
            const std::string& name);

  Pair training_pair(Rng& rng) const override;
  std::vector<Pair> evaluation_pairs() const override;
  std::vector<Pair> training_sample() const override;
  Index longest_source() const override { return longest_source_; }
  Index longest_target() const override { return longest_target_; }

  Index training_pairs() const { return static_cast<Index>(split_.training.size()); }
  Index held_out_pairs() const { return static_cast<Index>(split_.held_out.size()); }
  /// Mean nats per target token of guessing by frequencies; `eos` follows each target.
  double unigram_entropy(Index eos) const;

 private:
  Pair pair(Index line) const;
  std::vector<Pair> pairs(const std::vector<Index>& lines, Index most) const;

  TextLines lines_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Settings settings_;
  HeldOut split_;
  Index longest_source_ = 0;
  Index longest_target_ = 0;
};

}  // namespace attn
