#include "io/crash_guard.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/text.h"

namespace attn {

#ifdef ATTNTOOLS_ASAN

void enter_crash_guard(std::string_view /*input*/, int /*busy_seconds*/) {}
void leave_crash_guard() {}
void renew_crash_guard() {}

#else

namespace {

constexpr int kDataExit = 3;
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGVTALRM};

// A handler may touch nothing but memory that is ready for it.
int depth = 0;
struct Message {
  std::array<char, 512> text;
  std::size_t size = 0;

  void set(std::string_view input, const char* what) {
    const auto end = fmt::format_to_n(text.data(), text.size(),
                                      "{}: {}: the HDF5 library {}; the file is damaged or "
                                      "hostile\n",
                                      program_invocation_short_name, escaped(input), what);
    size = std::min(end.size, text.size());
  }
};
Message crashed;
Message busy;
int patience = 0;  // seconds
std::array<struct sigaction, kSignals.size()> previous;
stack_t previous_stack;
alignas(16) std::array<std::byte, 65536> handler_stack;

// User time of this process: a slow disk does not count.
void set_timer(int seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

extern "C" void report_crash(int signal) {
  const Message& message = signal == SIGVTALRM ? busy : crashed;
  const char* at = message.text.data();
  std::size_t left = message.size;
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

void enter_crash_guard(std::string_view input, int busy_seconds) {
  if (depth++ > 0) return;
  crashed.set(input, "crashed while reading it");
  busy.set(input, "does not come to an end with it");
  patience = busy_seconds;
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
  set_timer(patience);
}

void renew_crash_guard() {
  if (depth > 0) set_timer(patience);
}

void leave_crash_guard() {
  if (--depth > 0) return;
  set_timer(0);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
}

#endif

}  // namespace attn
