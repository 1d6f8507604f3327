#pragma once

#include <optional>
#include <unordered_map>
#include <utility>

#include "text/tokenizer.h"

namespace attn {

/// GPT-2's byte-level byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909; Radford et al.
/// 2019): a text is cut into pieces (gpt2_piece), and within each the pair of neighbours that the
/// list of merges names first is merged wherever it stands, until it names none. Any bytes can be
/// encoded, and decoding gives them back.
class Gpt2Tokenizer : public Tokenizer {
 public:
  /// The token that ends a document in GPT-2's vocabulary.
  static constexpr const char* kEndOfText = "<|endoftext|>";

  /// From the contents of vocab.json (or encoder.json), words to ids, and merges.txt (or
  /// vocab.bpe), one pair a line in order of rank. Words of the form <...> that no merge makes are
  /// special and no text. `specials` are roles besides; without an end, <|endoftext|> has that
  /// role. `vocab_size` is the model's, where it has unused ids after the last one; 0: as many as
  /// there are. Throws DataError that names the file's line or word where the two make no
  /// vocabulary: ids that are not 0, 1, 2 ..., a word twice, a byte that has no word, a merge of or
  /// into something that is none.
  Gpt2Tokenizer(std::string_view vocabulary, std::string_view merges,
                const SpecialTokens& specials = {}, Index vocab_size = 0);

  /// The same with these roles, whose ids may be new ones after the last.
  std::shared_ptr<const Gpt2Tokenizer> with_roles(const SpecialTokens& specials) const;

  Index vocab_size() const override { return vocab_size_; }
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  bool is_text(Index id) const override;
  SpecialTokens specials() const override { return specials_; }
  TokenizerData data() const override;

 protected:
  void encode_from(std::string_view text, std::size_t first,
                   std::vector<Index>& ids) const override;
  std::vector<std::pair<std::string, Index>> spelled() const override;

 private:
  struct Merge {
    Index rank = 0;
    Index made = 0;
  };
  struct Merger;

  void read_vocabulary(std::string_view text);
  void read_merges(std::string_view text);
  void tell_specials();
  void set_roles(const SpecialTokens& specials, Index vocab_size);
  const Merge* merge(Index left, Index right) const;

  std::string vocabulary_, merges_;  // as the files have them
  std::vector<std::string> words_;   // of each id: bytes, or a special token as it is spelled
  std::vector<char> named_;          // 1 for a special token of the vocabulary
  std::vector<Index> bytes_;         // (256): the id of each byte
  std::unordered_map<std::uint64_t, Merge> merge_of_;  // by pair
  SpecialTokens specials_;
  Index vocab_size_ = 0;
};

}  // namespace attn
