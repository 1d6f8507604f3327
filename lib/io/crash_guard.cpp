#include "io/crash_guard.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/text.h"

namespace attn {

#ifdef ATTNTOOLS_ASAN

void enter_crash_guard(std::string_view /*input*/) {}
void leave_crash_guard() {}

#else

namespace {

constexpr int kDataExit = 3;
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

// A handler may touch nothing but memory that is ready for it.
int depth = 0;
std::array<char, 512> message;
std::size_t message_size = 0;
std::array<struct sigaction, kSignals.size()> previous;
stack_t previous_stack;
alignas(16) std::array<std::byte, 65536> handler_stack;

extern "C" void report_crash(int /*signal*/) {
  const char* at = message.data();
  std::size_t left = message_size;
  while (left > 0) {
    const ssize_t written = write(STDERR_FILENO, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  _exit(kDataExit);
}

}  // namespace

void enter_crash_guard(std::string_view input) {
  if (depth++ > 0) return;
  const auto end = fmt::format_to_n(
      message.data(), message.size(),
      "{}: {}: the HDF5 library crashed while reading it; the file is damaged or hostile\n",
      program_invocation_short_name, escaped(input));
  message_size = std::min(end.size, message.size());
  // Deep recursion is one way to die, so the handler needs a stack of its own.
  stack_t stack = {};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, &previous_stack);
  struct sigaction action = {};
  action.sa_handler = report_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

void leave_crash_guard() {
  if (--depth > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
}

#endif

}  // namespace attn
