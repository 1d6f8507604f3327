#include "cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "core/error.h"

namespace attn::cli {
namespace {

constexpr std::array<int, 3> kInterrupts = {SIGINT, SIGTERM, SIGHUP};

std::array<void (*)(), 8> clean_ups{};
volatile std::sig_atomic_t clean_up_count = 0;

extern "C" void interrupted(int signal) {
  for (int i = 0; i < clean_up_count; ++i) clean_ups[static_cast<std::size_t>(i)]();
  // The handler was reset when it was entered. Dying of the signal itself tells a shell loop that
  // it was interrupted, which an exit status would not.
  raise(signal);
}

}  // namespace

void on_interrupt(void (*clean_up)()) {
  const auto count = static_cast<std::size_t>(clean_up_count);
  require_shape(count < clean_ups.size(), "on_interrupt: too many functions");
  clean_ups[count] = clean_up;
  clean_up_count = clean_up_count + 1;
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = interrupted;
  sigemptyset(&action.sa_mask);
  for (const int signal : kInterrupts) sigaddset(&action.sa_mask, signal);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kInterrupts) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // nohup and background jobs of a shell ignore some of them: that stays.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_DFL);
}

void open_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The wrong way round, so that using it is an error and not silence.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    const int opened = open("/dev/null", mode);  // the lowest free number: the missing one
    if (opened != descriptor && opened >= 0) close(opened);
  }
}

}  // namespace attn::cli
