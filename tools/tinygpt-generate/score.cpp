#include "tinygpt-generate/score.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/json.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "io/byte_source.h"
#include "model/scoring.h"

namespace attn {
namespace {

// What was measured, and what of.
struct Scored {
  Score score;
  Index characters = 0;  // that the targets stand for; 0 where tokens are no text
  Index bytes = 0;
};

std::vector<Index> tokens_of(const std::string& text, const std::string& name,
                             const Options& options, const Language& language,
                             const cli::Session& session) {
  try {
    const Tokenizer& tokenizer = *language.written;
    return tokenizer.encode(options.skip_unknown ? known_part(text, name, tokenizer, session)
                                                 : text);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", name, error.what()), error.hints());
  }
}

std::string text_of(const Scored& scored) {
  const Score& score = scored.score;
  std::string text = fmt::format(
      "loss                {:.6f} nats per token\nperplexity          "
      "{:.4f}\n",
      score.loss(), score.perplexity());
  if (scored.characters > 0) {
    text += fmt::format("bits per character  {:.6f}\n", score.bits_per(scored.characters));
  }
  text += fmt::format("tokens              {} in {} windows of {}\n", grouped(score.targets),
                      grouped(score.windows), score.window);
  return text;
}

cli::Json json_of(const Scored& scored) {
  const Score& score = scored.score;
  const bool text = scored.characters > 0;
  return {{"loss", score.loss()},
          {"perplexity", cli::json_number(score.perplexity())},
          {"bits_per_character", text ? cli::Json(score.bits_per(scored.characters)) : nullptr},
          {"bits_per_byte", text ? cli::Json(score.bits_per(scored.bytes)) : nullptr},
          {"tokens", score.targets},
          {"characters", text ? cli::Json(scored.characters) : nullptr},
          {"window", score.window},
          {"windows", score.windows}};
}

std::string tsv_of(const Scored& scored) {
  const cli::Json json = json_of(scored);
  std::vector<cli::Table::Column> columns;
  std::vector<std::string> cells;
  for (const auto& [name, value] : json.items()) {
    columns.push_back({name});
    cells.push_back(value.is_null() ? "" : value.dump());
  }
  cli::Table table(std::move(columns));
  table.add(std::move(cells));
  return table.tsv();
}

}  // namespace

void check_scored(Arch arch) {
  if (arch == Arch::kDecoder) return;
  throw UsageError(
      fmt::format("--score is for decoders: this model's arch is '{}'", enum_name(arch)));
}

void run_score(const Options& options, const Transformer<float>& model, const Language& language,
               cli::Session& session) {
  const ByteSource file = ByteSource::open(options.score, options.max_bytes);
  const std::vector<Index> all =
      tokens_of(std::string(as_text(file.bytes())), file.name(), options, language, session);
  const std::span<const Index> ids = last_share(all, options.val_fraction.value_or(1));
  if (ids.size() < 2) {
    throw DataError(fmt::format("{}: {} to score: {}, and the first is not foretold", file.name(),
                                options.val_fraction ? "too little" : "nothing",
                                counted(std::ssize(ids), "token")));
  }
  const Index window = options.score_window.value_or(usual_window(model.config()));
  Scored scored;
  {
    const Index windows = cut_into_windows(model.config(), ids, window).windows;
    cli::Progress progress = cli::Progress::of_patience(session, windows, "windows");
    scored.score = score_tokens<float>(model, ids, window, static_cast<int>(options.threads),
                                       [&](Index over) { progress.update(over); });
  }
  if (tokens_are_text(*language.written)) {
    const std::span<const Index> targets(ids.data() + 1,
                                         static_cast<std::size_t>(scored.score.targets));
    const std::string text = language.written->decode(targets);
    scored.bytes = static_cast<Index>(text.size());
    scored.characters = static_cast<Index>(cli::display_width(text));
  }
  session.did(fmt::format("scored {} of {} with {}", counted(scored.score.targets, "token"),
                          file.name(), input_name(options.input)));
  switch (options.format) {
    case cli::Format::kJson:
      session.report().write(cli::json_text(json_of(scored)));
      break;
    case cli::Format::kTsv:
      session.report().write(tsv_of(scored));
      break;
    default:
      session.report().write(text_of(scored));
  }
}

}  // namespace attn
