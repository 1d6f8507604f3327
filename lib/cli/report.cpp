#include "cli/report.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"

namespace attn::cli {
namespace {

// On stderr it is only words beside an answer, and their loss is no failure.
void fail(std::FILE* stream, int why) {
  if (stream == stderr) return;
  throw DataError(fmt::format("cannot write to stdout: {}", std::generic_category().message(why)));
}

}  // namespace

void Report::write(std::string_view text) {
  if (stream_ == nullptr || text.empty()) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) {
    fail(stream_, errno);
  }
}

void Report::flush() {
  if (stream_ == nullptr) return;
  errno = 0;
  if (std::fflush(stream_) != 0 || std::ferror(stream_) != 0) fail(stream_, errno);
}

}  // namespace attn::cli
