#include "train/file_tasks.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "text/id_tokenizer.h"
#include "train/documents.h"
#include "train/file_tokens.h"
#include "train/text_lines.h"
#include "train/text_windows.h"
#include "train/tokenized_text.h"

namespace attn {
namespace {

void put_unigram(Task& task, double entropy, const std::string& units) {
  task.yardstick_name = "unigram";
  task.yardstick_about = fmt::format("guessing by the {}' frequencies alone", units);
  task.yardstick = entropy;
}

TextWindows::Settings window_settings(const TaskSettings& settings, Index seq_len) {
  TextWindows::Settings windows;
  windows.seq_len = settings.seq_len.value_or(seq_len);
  windows.held_out = settings.held_out;
  windows.most_windows = settings.eval_windows;
  windows.seed = settings.seed;
  return windows;
}

// What the batches of every such task depend on.
SettingList file_settings(const TaskSettings& settings, Index seq_len) {
  return {{"seq_len", seq_len},
          {"val_fraction", settings.held_out},
          {"eval_windows", settings.eval_windows}};
}

constexpr double kMaskFraction = 0.15;

// Windows of a stream, whichever it is.
Task windows_task(std::shared_ptr<const TokenStream> stream,
                  std::shared_ptr<const Tokenizer> tokenizer, const std::string& name,
                  const std::string& units, const TaskSettings& settings,
                  TextWindows::Settings windows) {
  if (windows.masking) {
    windows.masking->fraction = settings.mask_fraction.value_or(kMaskFraction);
  }
  const std::vector<Index>& counts = stream->counts();
  const auto distinct =
      std::count_if(counts.begin(), counts.end(), [](Index count) { return count > 0; });
  auto data = std::make_unique<TextWindows>(std::move(stream), windows, name);
  Task task;
  task.about = fmt::format("{}: {} {}, {} distinct; the last {} are held out", name,
                           grouped(data->training_tokens() + data->held_out_tokens()), units,
                           distinct, grouped(data->held_out_tokens()));
  put_unigram(task, data->unigram_entropy(), units);
  task.evaluated_over = counted(data->evaluation_batch().batch, "held-out window");
  task.accuracy_about = windows.masking ? "hidden tokens" : "targets";
  task.settings = file_settings(settings, windows.seq_len);
  if (windows.masking) task.settings.emplace_back("mask_fraction", windows.masking->fraction);
  task.tokenizer = std::move(tokenizer);
  task.data = std::move(data);
  return task;
}

}  // namespace

Task text_file_task(const TaskSettings& settings, Arch arch, Index seq_len) {
  const bool masked = arch == Arch::kEncoder;
  const TokenizedText text =
      open_tokenized(settings, settings.text, masked ? TextUse::kMasked : TextUse::kWindows);
  TextWindows::Settings windows = window_settings(settings, seq_len);
  if (masked) {
    const Index mask = text.tokenizer->specials().mask.value_or(0);
    windows.masking = Masking{kMaskFraction, mask, mask};
  }
  Task task = windows_task(stream_of(text), text.tokenizer, text.scan.name(),
                           unit_word(*text.tokenizer), settings, windows);
  task.data_digest = text.scan.digest;
  return task;
}

Task lines_task(const TaskSettings& settings) {
  const TokenizedText text = open_tokenized(settings, settings.text, TextUse::kLines);
  const SpecialTokens specials = text.tokenizer->specials();
  DocumentData::Settings chosen;
  chosen.vocab_size = text.tokenizer->vocab_size();
  chosen.bos = specials.bos;
  chosen.eos = specials.eos;
  chosen.pad = specials.pad.value_or(specials.eos.value_or(0));
  chosen.seq_len = settings.seq_len;
  chosen.held_out = settings.held_out;
  chosen.most_documents = settings.eval_windows;
  chosen.seed = settings.seed;
  const std::string name = text.scan.name();
  auto data = std::make_unique<DocumentData>(
      std::make_shared<LineDocuments>(TextLines(text.scan), text.tokenizer), chosen,
      name + ": lines");
  Task task;
  task.about = fmt::format("{}: {} lines, {} distinct {}; {} lines are held out", name,
                           grouped(data->training_documents() + data->held_out_documents()),
                           chosen.vocab_size, unit_word(*text.tokenizer),
                           grouped(data->held_out_documents()));
  put_unigram(task, data->unigram_entropy(), unit_word(*text.tokenizer));
  task.evaluated_over = counted(data->evaluation_batch().batch, "held-out line");
  task.accuracy_about = "targets, ends included";
  task.settings = file_settings(settings, data->seq_len());
  task.tokenizer = text.tokenizer;
  task.data = std::move(data);
  task.data_digest = text.scan.digest;
  return task;
}

Task pairs_task(const TaskSettings& settings, Arch arch) {
  const bool two_stacks = arch == Arch::kEncoderDecoder;
  const TokenizedText text = open_tokenized(
      settings, {settings.pairs}, two_stacks ? TextUse::kTwoStackPairs : TextUse::kOneStackPairs);
  const SpecialTokens specials = text.tokenizer->specials();
  PairLayout layout;
  layout.arch = arch;
  layout.vocab_size = text.tokenizer->vocab_size();
  layout.bos = specials.bos.value_or(0);
  layout.eos = specials.eos.value_or(0);
  layout.pad = specials.pad.value_or(layout.eos);
  if (!two_stacks) layout.separator = text.tokenizer->encode("\t").front();
  const std::string name = text.scan.name();
  auto maker = std::make_unique<LinePairs>(
      TextLines(text.scan), text.tokenizer,
      LinePairs::Settings{settings.seq_len, settings.held_out, settings.eval_windows},
      name + ": lines");
  Task task;
  task.about = fmt::format("{}: {} pairs; {} are held out", name,
                           grouped(maker->training_pairs() + maker->held_out_pairs()),
                           grouped(maker->held_out_pairs()));
  put_unigram(task, maker->unigram_entropy(layout.eos), unit_word(*text.tokenizer));
  const Index longest =
      settings.seq_len.value_or(std::max(maker->longest_source(), maker->longest_target()));
  auto data = std::make_unique<PairData>(std::move(maker), layout, settings.seed);
  task.evaluated_over = counted(data->evaluation_batch().batch, "held-out pair");
  task.accuracy_of = AccuracyOf::kSequences;
  task.accuracy_about = "whole sequences";
  task.settings = file_settings(settings, longest);
  task.tokenizer = text.tokenizer;
  task.data = std::move(data);
  task.data_digest = text.scan.digest;
  return task;
}

Task tokens_task(const TaskSettings& settings, Arch arch, Index seq_len) {
  ReadLimits limits;
  limits.max_bytes = settings.max_bytes;
  const auto tokens = std::make_shared<const FileTokens>(Hdf5Reader::open(settings.tokens, limits));
  const auto ids = static_cast<Index>(tokens->counts().size());
  Task task;
  if (tokens->is_stream()) {
    const bool masked = arch == Arch::kEncoder;
    TextWindows::Settings windows = window_settings(settings, seq_len);
    std::shared_ptr<const TokenStream> stream = std::make_shared<FileTokenStream>(tokens);
    std::shared_ptr<const Tokenizer> tokenizer = tokens->tokenizer();
    if (masked && (tokenizer == nullptr || !tokenizer->specials().mask)) {
      // The mask is one id more, which a tokenizer does not have.
      windows.masking = Masking{kMaskFraction, ids, ids};
      SpecialTokens specials;
      specials.mask = ids;
      tokenizer = std::make_shared<IdTokenizer>(ids + 1, specials);
    } else if (masked) {
      const Index mask = *tokenizer->specials().mask;
      windows.masking = Masking{kMaskFraction, mask, mask};
    } else if (tokenizer == nullptr) {
      tokenizer = std::make_shared<IdTokenizer>(ids);
    }
    task = windows_task(std::move(stream), std::move(tokenizer), tokens->name(), "ids", settings,
                        windows);
  } else {
    if (arch == Arch::kEncoder) {
      throw UsageError("--arch encoder learns from a stream of ids, not from rows of them");
    }
    std::shared_ptr<const Tokenizer> tokenizer = tokens->tokenizer();
    if (tokenizer == nullptr) tokenizer = std::make_shared<IdTokenizer>(ids);
    DocumentData::Settings chosen;
    chosen.vocab_size = ids;
    chosen.bos = tokenizer->specials().bos;
    chosen.eos = tokenizer->specials().eos;
    chosen.pad = tokenizer->specials().pad.value_or(chosen.eos.value_or(0));
    chosen.seq_len = settings.seq_len;
    chosen.held_out = settings.held_out;
    chosen.most_documents = settings.eval_windows;
    chosen.seed = settings.seed;
    auto data = std::make_unique<DocumentData>(std::make_shared<FileTokenRows>(tokens), chosen,
                                               tokens->name() + ": rows");
    task.about = fmt::format("{}: {} rows of up to {} ids, {} distinct; {} are held out",
                             tokens->name(), grouped(tokens->rows()), tokens->columns(), ids,
                             grouped(data->held_out_documents()));
    put_unigram(task, data->unigram_entropy(), "ids");
    task.evaluated_over = counted(data->evaluation_batch().batch, "held-out row");
    task.accuracy_about = "targets";
    task.settings = file_settings(settings, data->seq_len());
    task.tokenizer = tokenizer;
    task.data = std::move(data);
  }
  task.data_digest = tokens->digest();
  return task;
}

}  // namespace attn
