#include "train/text_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "train/unigram.h"

namespace attn {
namespace {

// What the tokenizer says of a text from a file is whoever made the file's to mend.
std::vector<Index> encode_line(const Tokenizer& tokenizer, std::string_view text,
                               const TextLines& lines, Index line) {
  try {
    return tokenizer.encode(text);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", lines.where(line), error.what()));
  }
}

}  // namespace

TextLines::TextLines(const TextScan& scan) {
  for (const TextScan::File& file : scan.files) {
    files_.push_back(file.source);
    const std::string_view text = as_text(file.source->bytes());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) lines_.push_back(line);
      at = end + 1;
    }
  }
}

std::string TextLines::where(Index index) const {
  const char* begin = line(index).data();
  for (const auto& file : files_) {
    const std::string_view text = as_text(file->bytes());
    if (begin < text.data() || begin >= text.data() + text.size()) continue;
    return fmt::format("{}: line {}", file->name(), 1 + std::count(text.data(), begin, '\n'));
  }
  return fmt::format("line {}", index + 1);
}

std::vector<Index> LineDocuments::tokens(Index document) const {
  return encode_line(*tokenizer_, lines_.line(document), lines_, document);
}

LinePairs::LinePairs(TextLines lines, std::shared_ptr<const Tokenizer> tokenizer,
                     const Settings& settings, const std::string& name)
    : lines_(std::move(lines)),
      tokenizer_(std::move(tokenizer)),
      settings_(settings),
      split_(hold_out(lines_.size(), settings.held_out, name)) {
  for (Index line = 0; line < lines_.size(); ++line) {
    const std::string_view text = lines_.line(line);
    const Pair found = std::count(text.begin(), text.end(), '\t') == 1 ? pair(line) : Pair{};
    if (found.source.empty() || found.target.empty()) {
      throw DataError(fmt::format("{}: wanted a source, a tab and a target: '{}' came",
                                  lines_.where(line), escaped(text, 40)));
    }
    const auto source = static_cast<Index>(found.source.size());
    const auto target = static_cast<Index>(found.target.size());
    if (settings_.longest && std::max(source, target) > *settings_.longest) {
      throw DataError(fmt::format("{}: its {} tokens are more than --seq-len {}",
                                  lines_.where(line), std::max(source, target), *settings_.longest),
                      {"without --seq-len, the longest sets it"});
    }
    longest_source_ = std::max(longest_source_, source);
    longest_target_ = std::max(longest_target_, target);
  }
}

Pair LinePairs::pair(Index line) const {
  const std::string_view text = lines_.line(line);
  const std::size_t tab = text.find('\t');
  return {encode_line(*tokenizer_, text.substr(0, tab), lines_, line),
          encode_line(*tokenizer_, text.substr(tab + 1), lines_, line)};
}

std::vector<Pair> LinePairs::pairs(const std::vector<Index>& lines, Index most) const {
  const auto all = static_cast<Index>(lines.size());
  const Index count = most == 0 ? all : std::min(most, all);
  std::vector<Pair> found;
  for (Index i = 0; i < count; ++i) found.push_back(pair(lines[static_cast<std::size_t>(i)]));
  return found;
}

Pair LinePairs::training_pair(Rng& rng) const {
  return pair(split_.training[static_cast<std::size_t>(rng.below(training_pairs()))]);
}

std::vector<Pair> LinePairs::evaluation_pairs() const {
  return pairs(split_.held_out, settings_.most_pairs);
}

std::vector<Pair> LinePairs::training_sample() const {
  constexpr Index kMostSampled = 256;
  return pairs(split_.training, kMostSampled);
}

double LinePairs::unigram_entropy(Index eos) const {
  const auto counts = [&](const std::vector<Index>& lines) {
    std::vector<Index> found(static_cast<std::size_t>(tokenizer_->vocab_size()), 0);
    for (const Index line : lines) {
      for (const Index token : pair(line).target) ++found[static_cast<std::size_t>(token)];
    }
    found[static_cast<std::size_t>(eos)] += static_cast<Index>(lines.size());
    return found;
  };
  return unigram_cross_entropy(counts(split_.training), counts(split_.held_out));
}

}  // namespace attn
