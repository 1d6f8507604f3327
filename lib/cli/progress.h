#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/session.h"
#include "core/index.h"

namespace attn::cli {

/// How far a long run is, on stderr, as "step 300/1500  loss 0.2054  eta 0:08": on a terminal one
/// line that is rewritten a few times a second, in a log one line each 10 %, nothing with -q or
/// --no-progress. Escapes and carriage returns never reach a log (or TERM=dumb, or CI).
class Progress {
 public:
  enum class Style { kNone, kLines, kLive };

  /// `before` of the total were finished by an earlier run: they took no time of this one.
  Progress(const Session& session, Index total, std::string what, Index before = 0);
  /// For tests: where to, and how.
  Progress(std::FILE* stream, Style style, int width, Index total, std::string what,
           Index before = 0, std::chrono::seconds silence = {});
  /// On a terminal alone, and not before two seconds: for what is mostly over in a moment.
  static Progress of_patience(const Session& session, Index total, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total are finished; `details` follow on the line ("loss 0.21").
  void update(Index done, std::string_view details = "");
  /// True when the next update will be seen, so that details need not be made in vain.
  bool wants(Index done) const;
  /// A line that stays, such as an evaluation's, above the one that is rewritten. Nothing with -q
  /// or --no-progress.
  void say(std::string_view line);

 private:
  using Clock = std::chrono::steady_clock;

  std::string eta_text(Index done) const;

  std::FILE* stream_;
  Style style_;
  int width_;
  Index total_;
  Index before_;
  std::string what_;
  Clock::duration silence_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_{};
  Index tenths_drawn_ = 0;
  bool line_open_ = false;
};

}  // namespace attn::cli
