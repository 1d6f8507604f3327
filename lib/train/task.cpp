#include "train/task.h"

#include <fmt/core.h>

#include "core/text.h"
#include "text/char_tokenizer.h"
#include "text/id_tokenizer.h"
#include "train/progressions.h"

namespace attn {

Task progressions_task(Index seq_len, std::uint64_t seed) {
  constexpr Index kModulus = 10;
  auto data = std::make_unique<Progressions>(seed, seq_len, kModulus);
  Task task;
  task.name = "progressions";
  task.about = fmt::format("progressions modulo {} of {} tokens", kModulus, seq_len);
  task.tokenizer = std::make_shared<IdTokenizer>(data->vocab_size());
  task.yardstick_name = "floor";
  task.yardstick_about =
      fmt::format("ln {} / {}: the second token cannot be known, so no loss is lower", kModulus - 1,
                  seq_len - 1);
  task.yardstick = data->loss_floor().value_or(0);
  task.evaluated_over = fmt::format("all {} progressions", data->evaluation_batch().batch);
  task.data = std::move(data);
  return task;
}

Task text_task(std::string_view text, const std::string& name,
               const TextWindows::Settings& settings) {
  auto tokenizer = CharTokenizer::from_text(text, name);
  auto data = std::make_unique<TextWindows>(tokenizer->encode(text), tokenizer->vocab_size(),
                                            settings, name);
  Task task;
  task.name = "text";
  task.about = fmt::format("{}: {} characters, {} distinct; the last {} are held out", name,
                           grouped(data->training_tokens() + data->held_out_tokens()),
                           tokenizer->vocab_size(), grouped(data->held_out_tokens()));
  task.yardstick_name = "unigram";
  task.yardstick_about = "guessing by the characters' frequencies alone";
  task.yardstick = data->unigram_entropy();
  task.evaluated_over = fmt::format("{} held-out windows", data->evaluation_batch().batch);
  task.tokenizer = std::move(tokenizer);
  task.data = std::move(data);
  return task;
}

}  // namespace attn
