#pragma once

#include <memory>
#include <string>

#include "io/hdf5_reader.h"
#include "text/tokenizer.h"
#include "train/documents.h"
#include "train/token_stream.h"

namespace attn {

/// Token ids that a file holds in the dataset /tokens, integers of any width: a stream (rank 1) or
/// a sequence in each row (rank 2; a row may end in -1s, which are not part of it). Its attribute
/// vocab_size, where there is one, says how many ids there are; else they reach to the largest.
/// One pass checks and counts them; after that they are read where they are needed.
class FileTokens {
 public:
  static constexpr const char* kDataset = "/tokens";

  /// Throws DataError for what is no such dataset, an id that is negative or outside vocab_size,
  /// and more than kMostIds ids.
  explicit FileTokens(Hdf5Reader reader);

  static constexpr Index kMostIds = Index{1} << 24;

  const std::string& name() const { return reader_.name(); }
  /// What made the ids, where the file has it: then there are as many ids as it has tokens.
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  bool is_stream() const { return columns_ == 0; }
  Index rows() const { return rows_; }        // of rank 2; else ids
  Index columns() const { return columns_; }  // of rank 2; else 0
  const std::vector<Index>& counts() const { return counts_; }
  /// "xxh3-128:" and 32 digits over the shape and all ids.
  const std::string& digest() const { return digest_; }
  /// Rows first .. first + count - 1.
  void read(Index first, Index count, Index* out) const;

 private:
  void look_through();

  Hdf5Reader reader_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Index rows_ = 0;
  Index columns_ = 0;
  std::vector<Index> counts_;
  std::string digest_;
};

/// Of rank 1.
class FileTokenStream : public TokenStream {
 public:
  explicit FileTokenStream(std::shared_ptr<const FileTokens> tokens) : tokens_(std::move(tokens)) {}

  Index size() const override { return tokens_->rows(); }
  void read(Index first, std::span<Index> out) const override {
    tokens_->read(first, static_cast<Index>(out.size()), out.data());
  }
  const std::vector<Index>& counts() const override { return tokens_->counts(); }

 private:
  std::shared_ptr<const FileTokens> tokens_;
};

/// Of rank 2.
class FileTokenRows : public Documents {
 public:
  explicit FileTokenRows(std::shared_ptr<const FileTokens> tokens) : tokens_(std::move(tokens)) {}

  Index size() const override { return tokens_->rows(); }
  std::vector<Index> tokens(Index document) const override;
  std::string where(Index document) const override;

 private:
  std::shared_ptr<const FileTokens> tokens_;
};

}  // namespace attn
