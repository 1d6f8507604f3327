#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace attn::cli {
namespace {

constexpr int kNarrowest = 20;
constexpr int kWidest = 10'000;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

int columns(int descriptor, bool interactive) {
  const std::string_view text = variable("COLUMNS");
  int width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error == std::errc{} && end == text.data() + text.size() && width >= kNarrowest) {
    return std::min(width, kWidest);
  }
  winsize size{};
  if (interactive && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) {
    return std::min<int>(size.ws_col, kWidest);
  }
  return Terminal{}.width;
}

ColorMode color_mode(bool interactive, ColorChoice choice) {
  if (choice == ColorChoice::kNever) return ColorMode::kNone;
  if (choice == ColorChoice::kAuto) {
    const bool dumb = variable("TERM") == "dumb" || variable("TERM").empty();
    if (!interactive || dumb || !variable("NO_COLOR").empty()) return ColorMode::kNone;
  }
  const std::string_view depth = variable("COLORTERM");
  return depth == "truecolor" || depth == "24bit" ? ColorMode::kTrueColor : ColorMode::k256;
}

}  // namespace

Terminal detect_terminal(int descriptor, ColorChoice choice) {
  Terminal terminal;
  const bool is_terminal = isatty(descriptor) != 0;
  terminal.interactive = is_terminal && variable("TERM") != "dumb" && variable("CI").empty();
  terminal.color = color_mode(is_terminal, choice);
  terminal.width = columns(descriptor, is_terminal);
  terminal.utf8 = speaks_utf8();
  return terminal;
}

}  // namespace attn::cli
