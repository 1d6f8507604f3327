#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "train/data_source.h"
#include "train/text_windows.h"

namespace attn {

/// Something to learn: the sequences, how their tokens are written, and a number that the loss is
/// to be held against, so that nobody takes success for failure or failure for success.
struct Task {
  std::string name;   // as files call it: "progressions", "text"
  std::string about;  // one line for people
  std::unique_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string
      yardstick_name;  // "floor": no loss is lower; "unigram": a loss not lower is no success
  std::string yardstick_about;  // how it comes about
  double yardstick = 0;         // mean nats per target
  std::string evaluated_over;   // what evaluation runs over: "all 90 progressions"
};

/// Arithmetic progressions modulo 10 (train/progressions.h). Throws UsageError for seq_len below 3.
Task progressions_task(Index seq_len, std::uint64_t seed);

/// A text by characters: its vocabulary is what occurs in it. `name` calls it in messages. Throws
/// DataError for invalid UTF-8 and for a text too short for its windows.
Task text_task(std::string_view text, const std::string& name,
               const TextWindows::Settings& settings);

}  // namespace attn
