#include "text/gpt2_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "text/gpt2_pieces.h"
#include "text/word_ids.h"

namespace attn {
namespace {

std::uint64_t pair_key(Index left, Index right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint64_t>(right);
}

// Escaped, with blanks and line ends to be seen.
std::string visible(std::string_view word) {
  std::string shown;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find_first_of(" \n\t", at), word.size());
    if (end > at) shown += escaped(word.substr(at, end - at), end - at);
    if (end < word.size()) shown += word[end] == ' ' ? "\u00b7" : word[end] == '\n' ? "\\n" : "\\t";
    at = end + 1;
  }
  return shown;
}

std::vector<std::uint8_t> as_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

Gpt2Tokenizer::Gpt2Tokenizer(std::string_view vocabulary, std::string_view merges,
                             const SpecialTokens& specials, Index vocab_size)
    : vocabulary_(vocabulary), merges_(merges) {
  read_vocabulary(vocabulary);
  read_merges(merges);
  tell_specials();
  set_roles(specials, vocab_size);
}

void Gpt2Tokenizer::read_vocabulary(std::string_view text) {
  const std::unordered_map<std::string, Index> ids = read_word_ids(text);
  words_.resize(ids.size());
  std::vector<char> taken(words_.size());
  for (const auto& [word, id] : ids) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= words_.size() || taken[at] != 0) {
      throw DataError(
          fmt::format("the vocabulary has {} words, so ids 0 .. {} are wanted, each once: '{}' has "
                      "{}",
                      words_.size(), static_cast<Index>(words_.size()) - 1, escaped(word), id));
    }
    taken[at] = 1;
    words_[at] = word;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(utf8_character(gpt2_letter(static_cast<unsigned char>(byte))));
    if (found == ids.end()) {
      throw DataError(fmt::format("the vocabulary has no word for the byte 0x{:02x}", byte));
    }
    bytes_.push_back(found->second);
  }
}

void Gpt2Tokenizer::read_merges(std::string_view text) {
  std::unordered_map<std::string_view, Index> ids;
  for (std::size_t id = 0; id < words_.size(); ++id) ids[words_[id]] = static_cast<Index>(id);
  named_.assign(words_.size(), 1);
  for (const Index id : bytes_) named_[static_cast<std::size_t>(id)] = 0;
  Index line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const auto fail = [&](const char* what) {
      throw DataError(
          fmt::format("line {} of the merges, '{}': {}", line_number, escaped(line, 40), what));
    };
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      fail("two words and a blank are wanted");
    }
    const std::string made = std::string(line.substr(0, blank)).append(line.substr(blank + 1));
    const auto left = ids.find(line.substr(0, blank));
    const auto right = ids.find(line.substr(blank + 1));
    const auto whole = ids.find(made);
    if (left == ids.end() || right == ids.end() || whole == ids.end()) {
      fail("a word of it, or what it makes, is not in the vocabulary");
    }
    const Merge merge{static_cast<Index>(merge_of_.size()), whole->second};
    if (!merge_of_.emplace(pair_key(left->second, right->second), merge).second) {
      fail("the same pair stands there twice");
    }
    named_[static_cast<std::size_t>(whole->second)] = 0;
  }
}

void Gpt2Tokenizer::tell_specials() {
  for (std::size_t id = 0; id < words_.size(); ++id) {
    std::string& word = words_[id];
    if (named_[id] != 0 && word.starts_with('<') && word.ends_with('>')) continue;
    named_[id] = 0;
    const std::optional<std::string> bytes = gpt2_bytes(word);
    if (!bytes) {
      throw DataError(
          fmt::format("the word '{}' of the vocabulary is not written in bytes", escaped(word)));
    }
    word = *bytes;
  }
}

void Gpt2Tokenizer::set_roles(const SpecialTokens& specials, Index vocab_size) {
  specials_ = specials;
  const auto end = std::find(words_.begin(), words_.end(), kEndOfText);
  if (!specials_.eos && end != words_.end()) specials_.eos = end - words_.begin();
  vocab_size_ = std::max(vocab_size, static_cast<Index>(words_.size()));
  for (const auto& [spelling, role] : kSpecialSpellings) {
    const std::optional<Index>& id = specials_.*role;
    if (!id) continue;
    if (*id < 0 || (vocab_size != 0 && *id >= vocab_size_)) {
      throw DataError(fmt::format("tokenizer: {} has the id {}, the vocabulary {} words", spelling,
                                  *id, vocab_size_));
    }
    vocab_size_ = std::max(vocab_size_, *id + 1);
  }
}

std::shared_ptr<const Gpt2Tokenizer> Gpt2Tokenizer::with_roles(
    const SpecialTokens& specials) const {
  auto made = std::make_shared<Gpt2Tokenizer>(*this);
  made->set_roles(specials, 0);
  return made;
}

const Gpt2Tokenizer::Merge* Gpt2Tokenizer::merge(Index left, Index right) const {
  const auto found = merge_of_.find(pair_key(left, right));
  return found == merge_of_.end() ? nullptr : &found->second;
}

// The tokens of one piece, as a list that pairs are merged in. A queue of pairs by rank keeps a
// piece of a million bytes from taking a million passes.
struct Gpt2Tokenizer::Merger {
  struct Token {
    Index id = 0;
    std::size_t before = kNone, after = kNone;
    bool live = true;
  };
  struct Waiting {
    Index rank;
    std::size_t left;
    Index left_id, right_id;
    bool operator>(const Waiting& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  const Gpt2Tokenizer& tokenizer;
  std::vector<Token> tokens = {};
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue = {};

  void look_at(std::size_t left) {
    if (left == kNone || tokens[left].after == kNone) return;
    const Index left_id = tokens[left].id;
    const Index right_id = tokens[tokens[left].after].id;
    const Merge* found = tokenizer.merge(left_id, right_id);
    if (found != nullptr) queue.push({found->rank, left, left_id, right_id});
  }

  bool stands(const Waiting& pair) const {
    const Token& left = tokens[pair.left];
    return left.live && left.id == pair.left_id && left.after != kNone &&
           tokens[left.after].id == pair.right_id;
  }

  void merge_at(std::size_t at, Index made) {
    Token& left = tokens[at];
    Token& right = tokens[left.after];
    left.id = made;
    left.after = right.after;
    right.live = false;
    if (left.after != kNone) tokens[left.after].before = at;
  }

  void encode(std::string_view piece, std::vector<Index>& ids) {
    tokens.assign(piece.size(), {});
    for (std::size_t at = 0; at < piece.size(); ++at) {
      tokens[at].id = tokenizer.bytes_[static_cast<unsigned char>(piece[at])];
      if (at > 0) tokens[at].before = at - 1;
      if (at + 1 < piece.size()) tokens[at].after = at + 1;
    }
    for (std::size_t at = 0; at + 1 < piece.size(); ++at) look_at(at);
    std::vector<std::size_t> merged;
    while (!queue.empty()) {
      // All places of one pair, from the left, before any pair that they give rise to.
      const Waiting pair = queue.top();
      const Index made = tokenizer.merge(pair.left_id, pair.right_id)->made;
      merged.clear();
      while (!queue.empty() && queue.top().rank == pair.rank) {
        const Waiting next = queue.top();
        queue.pop();
        if (!stands(next)) continue;
        merge_at(next.left, made);
        merged.push_back(next.left);
      }
      for (const std::size_t at : merged) {
        if (!tokens[at].live) continue;
        look_at(tokens[at].before);
        look_at(at);
      }
    }
    for (std::size_t at = 0; at != kNone; at = tokens[at].after) ids.push_back(tokens[at].id);
  }
};

void Gpt2Tokenizer::encode_from(std::string_view text, std::size_t first,
                                std::vector<Index>& ids) const {
  // Words come again and again: most pieces are looked up.
  constexpr std::size_t kLongestKept = 32;
  constexpr std::size_t kMostKept = 1U << 16;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> kept;
  std::vector<Index> kept_ids;
  Merger merger{*this};
  for (std::size_t at = first; at < text.size();) {
    const std::string_view piece = text.substr(at, gpt2_piece(text, at));
    at += piece.size();
    const auto known = kept.find(piece);
    if (known != kept.end()) {
      const auto begin = kept_ids.begin() + static_cast<std::ptrdiff_t>(known->second.first);
      ids.insert(ids.end(), begin, begin + static_cast<std::ptrdiff_t>(known->second.second));
      continue;
    }
    const std::size_t before = ids.size();
    merger.encode(piece, ids);
    if (piece.size() > kLongestKept || kept.size() >= kMostKept) continue;
    kept[piece] = {kept_ids.size(), ids.size() - before};
    kept_ids.insert(kept_ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
  }
}

std::string Gpt2Tokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_id(id);
    if (is_text(id)) text += words_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string Gpt2Tokenizer::label(Index id) const {
  require_id(id);
  const auto at = static_cast<std::size_t>(id);
  if (at < words_.size() && named_[at] != 0) return escaped(words_[at]);
  std::string role = is_text(id) ? "" : special_label(specials_, id);
  if (!role.empty()) return role;
  if (at >= words_.size()) return fmt::format("<unused {}>", id);
  return visible(words_[at]);
}

bool Gpt2Tokenizer::is_text(Index id) const {
  const auto at = static_cast<std::size_t>(id);
  return at < words_.size() && named_[at] == 0;
}

std::vector<std::pair<std::string, Index>> Gpt2Tokenizer::spelled() const {
  std::vector<std::pair<std::string, Index>> all = Tokenizer::spelled();
  for (std::size_t id = 0; id < words_.size(); ++id) {
    if (named_[id] != 0) all.emplace_back(words_[id], static_cast<Index>(id));
  }
  return all;
}

TokenizerData Gpt2Tokenizer::data() const {
  return {"gpt2",
          vocab_size_,
          {{"vocab.json", as_bytes(vocabulary_)}, {"merges.txt", as_bytes(merges_)}},
          specials_};
}

}  // namespace attn
