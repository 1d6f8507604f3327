#include "cli/stop_request.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>

#include "core/error.h"

namespace attn::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t asked = 0;
bool exists = false;
std::array<struct sigaction, kSignals.size()> before;

void restore() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

extern "C" void note_stop(int signal) {
  if (asked == 0) {
    asked = signal;
    return;
  }
  // Asked twice: whoever asks does not want to wait. Blocked until this handler returns.
  restore();
  raise(signal);
}

}  // namespace

StopRequest::StopRequest() {
  require_shape(!exists, "StopRequest: there is one already");
  exists = true;
  asked = 0;
  struct sigaction action = {};
  action.sa_handler = note_stop;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  // Not reset when entered: this is how other handlers know that the program goes on.
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

StopRequest::~StopRequest() {
  restore();
  exists = false;
}

int StopRequest::signal() const {
  return asked;
}

const char* StopRequest::name() const {
  switch (signal()) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "";
  }
}

void StopRequest::obey() const {
  if (signal() == 0) return;
  std::fflush(nullptr);
  restore();
  raise(signal());
}

}  // namespace attn::cli
