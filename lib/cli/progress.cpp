#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/table.h"

namespace attn::cli {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(200);

Progress::Style style_for(const Session& session) {
  if (session.manner().quiet || !session.manner().progress) return Progress::Style::kNone;
  return session.log_terminal().interactive ? Progress::Style::kLive : Progress::Style::kLines;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<Index>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Progress(const Session& session, Index total, std::string what)
    : Progress(stderr, style_for(session), session.log_terminal().width, total, std::move(what)) {}

Progress::Progress(std::FILE* stream, Style style, int width, Index total, std::string what)
    : stream_(stream),
      style_(style),
      width_(width),
      total_(std::max<Index>(1, total)),
      what_(std::move(what)) {}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stream_);
}

bool Progress::wants(Index done) const {
  if (style_ == Style::kNone) return false;
  if (style_ == Style::kLines) {
    return static_cast<double>(done) / static_cast<double>(total_) * 10 >=
           static_cast<double>(tenths_drawn_ + 1);
  }
  return done >= total_ || Clock::now() - last_drawn_ >= kBetweenDraws;
}

void Progress::update(Index done, std::string_view details) {
  if (!wants(done)) return;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  std::string line = fmt::format("{} {}/{} {:3.0f} %", what_, done, total_, 100 * part);
  if (!details.empty()) line.append("  ").append(details);
  if (style_ == Style::kLines) {
    tenths_drawn_ = static_cast<Index>(part * 10);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stream_);
    return;
  }
  if (done > 0 && done < total_) {
    line += fmt::format("  {} left", time_text(elapsed.count() * (1 - part) / part));
  }
  // One column is left free: a full line would make the terminal begin a new one.
  const auto room = static_cast<std::size_t>(std::max(1, width_ - 1));
  line = padded_right(line.substr(0, room), room);
  line.insert(0, 1, '\r');
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
  last_drawn_ = Clock::now();
  line_open_ = true;
}

}  // namespace attn::cli
