#include "train/toy_tasks.h"

#include <fmt/core.h>

#include "core/text.h"
#include "text/id_tokenizer.h"
#include "text/word_tokenizer.h"
#include "train/induction.h"
#include "train/mapped_pairs.h"
#include "train/masked_progressions.h"
#include "train/progressions.h"

namespace attn {
namespace {

constexpr Index kDigits = 10;

// "0 1 2 ... 9"
std::string digits(Index count) {
  std::string words;
  for (Index digit = 0; digit < count; ++digit) {
    words += fmt::format("{}{}", digit == 0 ? "" : " ", digit);
  }
  return words;
}

// In two stacks BOS is 0 and EOS is 1, before the symbols; in one stack the separator and EOS come
// after them. What pads is hidden, so EOS does for that too.
std::shared_ptr<const WordTokenizer> pair_words(Arch arch, Index symbols) {
  const bool two_stacks = arch == Arch::kEncoderDecoder;
  SpecialTokens pad;
  pad.pad = two_stacks ? 1 : symbols + 1;
  return std::make_shared<WordTokenizer>(
      two_stacks ? "<bos> <eos> " + digits(symbols) : digits(symbols) + " : <eos>", pad);
}

Task mapping_task(const char* verb, MappedPairs::Settings mapped, Arch arch, std::uint64_t seed) {
  Task task;
  const auto tokenizer = pair_words(arch, mapped.symbols);
  const SpecialTokens specials = tokenizer->specials();
  PairLayout layout;
  layout.arch = arch;
  layout.vocab_size = tokenizer->vocab_size();
  layout.bos = specials.bos.value_or(0);
  layout.eos = specials.eos.value_or(0);
  layout.pad = specials.pad.value_or(0);
  layout.separator = mapped.symbols;
  mapped.first_symbol = arch == Arch::kEncoderDecoder ? 2 : 0;

  auto maker = std::make_unique<MappedPairs>(mapped);
  const std::optional<Index> all = maker->all();
  const std::string lengths = mapped.shortest == mapped.longest
                                  ? fmt::format("{}", mapped.longest)
                                  : fmt::format("{} to {}", mapped.shortest, mapped.longest);
  task.about = fmt::format("{} {} of {} symbols", verb, lengths, mapped.symbols);
  auto data = std::make_unique<PairData>(std::move(maker), layout, seed);
  data->set_loss_floor(0);
  task.tokenizer = tokenizer;
  task.yardstick_name = "floor";
  task.yardstick_about = "what is read tells all that is to be said";
  task.yardstick = 0;
  task.evaluated_over =
      all ? fmt::format("all {} strings, a quarter of them never trained on", grouped(*all))
          : fmt::format("{} strings", data->evaluation_batch().batch);
  task.accuracy_of = AccuracyOf::kSequences;
  task.accuracy_about = "whole sequences";
  task.settings = {
      {"seq_len", mapped.longest}, {"modulus", mapped.symbols}, {"min_len", mapped.shortest}};
  task.data = std::move(data);
  return task;
}

MappedPairs::Settings string_settings(const TaskSettings& settings, Mapping mapping) {
  MappedPairs::Settings mapped;
  mapped.mapping = mapping;
  mapped.symbols = settings.modulus.value_or(kDigits);
  mapped.longest = settings.seq_len.value_or(10);
  mapped.shortest = settings.min_len.value_or(1);
  return mapped;
}

}  // namespace

Task progressions_task(const TaskSettings& settings) {
  const Index seq_len = settings.seq_len.value_or(12);
  const Index modulus = settings.modulus.value_or(kDigits);
  auto data = std::make_unique<Progressions>(settings.seed, seq_len, modulus);
  Task task;
  task.about = fmt::format("progressions modulo {} of {} tokens", modulus, seq_len);
  task.tokenizer = std::make_shared<IdTokenizer>(data->vocab_size());
  task.yardstick_name = "floor";
  task.yardstick_about =
      fmt::format("ln {} / {}: the second token cannot be known, so no loss is lower", modulus - 1,
                  seq_len - 1);
  task.yardstick = data->loss_floor().value_or(0);
  task.evaluated_over = fmt::format("{}{} progressions", data->floor_is_exact() ? "all " : "",
                                    data->evaluation_batch().batch);
  task.accuracy_about = "targets from the third token on";
  task.wanted = 1.0;
  task.settings = {{"seq_len", seq_len}, {"modulus", modulus}};
  task.data = std::move(data);
  return task;
}

Task copy_task(const TaskSettings& settings, Arch arch) {
  Task task = mapping_task("copy", string_settings(settings, Mapping::kCopy), arch, settings.seed);
  task.wanted = 0.99;
  return task;
}

Task reverse_task(const TaskSettings& settings, Arch arch) {
  Task task =
      mapping_task("reverse", string_settings(settings, Mapping::kReverse), arch, settings.seed);
  task.wanted = 0.99;
  return task;
}

Task sort_task(const TaskSettings& settings, Arch arch) {
  MappedPairs::Settings mapped;
  mapped.mapping = Mapping::kSort;
  mapped.symbols = settings.modulus.value_or(3);
  mapped.longest = settings.seq_len.value_or(6);
  mapped.shortest = settings.min_len.value_or(mapped.longest);
  Task task = mapping_task("sort", mapped, arch, settings.seed);
  task.wanted = 1.0;
  return task;
}

Task masked_task(const TaskSettings& settings) {
  MaskedProgressions::Settings masked;
  masked.seq_len = settings.seq_len.value_or(12);
  masked.min_len = settings.min_len.value_or(masked.seq_len);
  masked.modulus = settings.modulus.value_or(kDigits);
  masked.mask_fraction = settings.mask_fraction.value_or(masked.mask_fraction);
  masked.seed = settings.seed;
  auto data = std::make_unique<MaskedProgressions>(masked);
  Task task;
  task.about = fmt::format("progressions modulo {} of {} tokens, {:.0f} % of them hidden",
                           masked.modulus, masked.seq_len, 100 * masked.mask_fraction);
  task.tokenizer = std::make_shared<WordTokenizer>(digits(masked.modulus) + " <mask>");
  task.yardstick_name = "floor";
  task.yardstick_about = "of a guess that weighs all progressions by what is seen";
  task.yardstick = data->loss_floor().value_or(0);
  task.evaluated_over = fmt::format("{} progressions", data->evaluation_batch().batch);
  task.accuracy_about = "hidden tokens that what is seen determines";
  task.wanted = 0.99;
  task.settings = {{"seq_len", masked.seq_len},
                   {"modulus", masked.modulus},
                   {"min_len", masked.min_len},
                   {"mask_fraction", masked.mask_fraction}};
  task.data = std::move(data);
  return task;
}

Task induction_task(const TaskSettings& settings) {
  Induction::Settings chosen;
  chosen.seq_len = settings.seq_len.value_or(chosen.seq_len);
  chosen.tokens = settings.modulus.value_or(chosen.tokens);
  chosen.seed = settings.seed;
  auto data = std::make_unique<Induction>(chosen);
  Task task;
  task.about = fmt::format("a random prefix of {} to {} distinct tokens out of {}, repeated",
                           chosen.shortest, chosen.longest, chosen.tokens);
  task.tokenizer = std::make_shared<IdTokenizer>(data->vocab_size());
  task.yardstick_name = "floor";
  task.yardstick_about = "neither the prefix nor its end can be known, all else can";
  task.yardstick = data->loss_floor().value_or(0);
  task.evaluated_over = fmt::format("{} sequences", data->evaluation_batch().batch);
  task.accuracy_about = "targets from the repeat's second token on";
  task.wanted = 0.98;
  task.settings = {{"seq_len", chosen.seq_len}, {"modulus", chosen.tokens}};
  task.data = std::move(data);
  return task;
}

}  // namespace attn
