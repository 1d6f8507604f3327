#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/table.h"

namespace attn::cli {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(200);
constexpr auto kPatience = std::chrono::seconds(2);

Progress::Style style_for(const Session& session) {
  if (session.manner().quiet || !session.manner().progress) return Progress::Style::kNone;
  return session.log_terminal().interactive ? Progress::Style::kLive : Progress::Style::kLines;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<Index>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Progress(const Session& session, Index total, std::string what, Index before)
    : Progress(stderr, style_for(session), session.log_terminal().width, total, std::move(what),
               before) {}

Progress::Progress(std::FILE* stream, Style style, int width, Index total, std::string what,
                   Index before, std::chrono::seconds silence)
    : stream_(stream),
      style_(style),
      width_(width),
      total_(std::max<Index>(1, total)),
      before_(before),
      what_(std::move(what)),
      silence_(silence),
      tenths_drawn_(before * 10 / total_) {}

Progress Progress::of_patience(const Session& session, Index total, std::string what) {
  const Style style = style_for(session);
  return Progress(stderr, style == Style::kLive ? style : Style::kNone,
                  session.log_terminal().width, total, std::move(what), 0, kPatience);
}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stream_);
}

bool Progress::wants(Index done) const {
  if (style_ == Style::kNone) return false;
  if (style_ == Style::kLines) {
    return static_cast<double>(done) / static_cast<double>(total_) * 10 >=
           static_cast<double>(tenths_drawn_ + 1);
  }
  const Clock::time_point now = Clock::now();
  if (now - start_ < silence_) return false;
  return done >= total_ || now - last_drawn_ >= kBetweenDraws;
}

// What the steps of this run took, for those that are left.
std::string Progress::eta_text(Index done) const {
  if (done <= before_ || done >= total_) return "";
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  const double each = elapsed.count() / static_cast<double>(done - before_);
  return fmt::format("  eta {}", time_text(each * static_cast<double>(total_ - done)));
}

void Progress::update(Index done, std::string_view details) {
  if (!wants(done)) return;
  std::string line = fmt::format("{} {}/{}", what_, done, total_);
  if (!details.empty()) line.append("  ").append(details);
  line += eta_text(done);
  if (style_ == Style::kLines) {
    tenths_drawn_ =
        static_cast<Index>(static_cast<double>(done) / static_cast<double>(total_) * 10);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stream_);
    return;
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

void Progress::say(std::string_view words) {
  if (style_ == Style::kNone) return;
  std::string line;
  if (line_open_) {
    // What is rewritten is blanked first: it may be the longer one.
    line = fmt::format("\r{:{}}\r", "", std::max(1, width_ - 1));
    line_open_ = false;
    last_drawn_ = {};
  }
  line += words;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stream_);
}

}  // namespace attn::cli
