#include "tinygpt-generate/prompts.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "io/byte_source.h"
#include "text/char_tokenizer.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

// One role: what was given, else what the tokenizer says.
void choose(std::optional<Index>& role, const std::optional<Index>& given, const char* option,
            Index vocab_size) {
  if (!given) return;
  if (*given >= vocab_size) {
    throw UsageError(
        fmt::format("{} {} is not in the vocabulary: 0 to {}", option, *given, vocab_size - 1));
  }
  role = given;
}

std::vector<Sequence> split_prompts(const PromptSource& source) {
  std::vector<Sequence> prompts;
  const auto add = [&](std::string where, std::string_view prompt) {
    Sequence& sequence = prompts.emplace_back();
    sequence.where = std::move(where);
    sequence.prompt = prompt;
  };
  if (source.text) {
    add("--prompt", *source.text);
    return prompts;
  }
  const ByteSource file = ByteSource::open(source.file, source.max_bytes);
  std::string_view rest = as_text(file.bytes());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    add(fmt::format("{} line {}", file.name(), prompts.size() + 1), line);
  }
  return prompts;
}

// The special token that stands spelled at the beginning of a text; empty for none.
std::string_view spelled_special(std::string_view text, const Tokenizer& tokenizer) {
  const SpecialTokens specials = tokenizer.specials();
  for (const auto& [spelled, role] : kSpecialSpellings) {
    if (specials.*role && text.starts_with(spelled)) return spelled;
  }
  return {};
}

// The text without the characters that the tokenizer does not know, and how many those were.
// Invalid UTF-8 is no character: it stays, to be refused.
std::pair<std::string, Index> without_unknown(std::string_view text, const CharTokenizer& known) {
  std::string kept;
  Index left_out = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::string_view special = spelled_special(rest, known);
    const std::size_t valid = utf8_length(rest);
    const std::size_t length = std::max({valid, special.size(), std::size_t{1}});
    if (special.empty() && valid > 0 && known.id(code_point(rest.substr(0, valid))) < 0) {
      ++left_out;
    } else {
      kept += rest.substr(0, length);
    }
    at += length;
  }
  return {kept, left_out};
}

// A token to begin with, for a hint: a line end, where texts have such, else the first that is text
// and nothing else.
std::string plain_token(const Tokenizer& tokenizer) {
  try {
    if (tokens_are_text(tokenizer) && tokenizer.encode("\n").size() == 1) return "a line end";
  } catch (const UsageError&) {
    // It knows none.
  }
  for (Index id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_text(id) && special_label(tokenizer.specials(), id).empty()) {
      return tokenizer.label(id);
    }
  }
  return tokenizer.label(0);
}

void encode(Sequence& sequence, const PromptSource& source, const Language& language,
            const cli::Session& session) {
  const Tokenizer& tokenizer = *language.read;
  const std::string text = source.skip_unknown
                               ? known_part(sequence.prompt, sequence.where, tokenizer, session)
                               : sequence.prompt;
  sequence.ids = tokenizer.encode_with_specials(text);
  const std::optional<Index>& bos = language.specials.bos;
  if (language.arch == Arch::kDecoder && bos &&
      (sequence.ids.empty() || sequence.ids.front() != *bos)) {
    sequence.ids.insert(sequence.ids.begin(), *bos);
    sequence.bos_added = true;
  }
  if (sequence.ids.empty()) {
    throw UsageError("no token to begin with",
                     {fmt::format("a model goes on from what it is given: at least one token, such "
                                  "as {}",
                                  plain_token(tokenizer))});
  }
  if (language.arch == Arch::kEncoder &&
      std::count(sequence.ids.begin(), sequence.ids.end(), *language.specials.mask) == 0) {
    throw UsageError("no token to guess", {fmt::format("write {} where one is hidden",
                                                       tokenizer.label(*language.specials.mask))});
  }
}

}  // namespace

std::string known_part(const std::string& text, const std::string& where,
                       const Tokenizer& tokenizer, const cli::Session& session) {
  const auto* characters = dynamic_cast<const CharTokenizer*>(&tokenizer);
  if (characters == nullptr) {
    throw UsageError(fmt::format("--unknown skip is for models of characters: this one reads {}",
                                 tokenizer.data().kind));
  }
  const auto [kept, left_out] = without_unknown(text, *characters);
  if (left_out > 0) {
    session.note(fmt::format("{}: {} not in the vocabulary left out", where,
                             counted(left_out, "character")));
  }
  return kept;
}

bool tokens_are_text(const Tokenizer& tokenizer) {
  return dynamic_cast<const IdTokenizer*>(&tokenizer) == nullptr;
}

Language language_of(const Checkpoint& checkpoint, const SpecialTokens& given) {
  const ModelConfig& config = checkpoint.model->config();
  Language language;
  language.arch = config.arch;
  language.written = checkpoint.tokenizer;
  if (!language.written) language.written = std::make_shared<IdTokenizer>(config.vocab_size);
  language.read = language.written;
  if (config.arch == Arch::kEncoderDecoder && config.source_vocab_size != config.vocab_size) {
    language.read = std::make_shared<IdTokenizer>(config.source_vocab_size);
  }
  language.specials = language.written->specials();
  choose(language.specials.bos, given.bos, "--bos", config.vocab_size);
  choose(language.specials.eos, given.eos, "--eos", config.vocab_size);
  choose(language.specials.mask, given.mask, "--mask", config.vocab_size);
  if (config.arch == Arch::kEncoderDecoder && !language.specials.bos) {
    throw UsageError("the checkpoint names no token that an answer begins with",
                     {"--bos ID names it"});
  }
  if (config.arch == Arch::kEncoder && !language.specials.mask) {
    throw UsageError("the checkpoint names no token that hides one to be guessed",
                     {"--mask ID names it"});
  }
  return language;
}

std::vector<Sequence> read_prompts(const PromptSource& source, const Language& language,
                                   const cli::Session& session) {
  std::vector<Sequence> prompts = split_prompts(source);
  for (Sequence& sequence : prompts) {
    try {
      encode(sequence, source, language, session);
    } catch (const UsageError& error) {
      const std::string what = fmt::format("{}: {}", sequence.where, error.what());
      if (source.text) throw UsageError(what, error.hints());
      throw DataError(what, error.hints());
    }
  }
  return prompts;
}

}  // namespace attn
