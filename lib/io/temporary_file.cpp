#include "io/temporary_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <system_error>

#include "core/error.h"

namespace attn {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// What a signal handler may read: paths in fixed places, each with a flag that is set last.
struct Slot {
  std::array<char, PATH_MAX> path;
  std::atomic<bool> used = false;
};
std::array<Slot, 4> slots;
std::array<struct sigaction, kSignals.size()> previous;
std::mutex guard;
int registered = 0;

// Does the program go on after a handler?
bool goes_on(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
         (action.sa_flags & static_cast<int>(SA_RESETHAND)) == 0;
}

extern "C" void remove_and_pass_on(int signal_number) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal_number && goes_on(previous[i])) {
      previous[i].sa_handler(signal_number);
      return;
    }
  }
  remove_temporary_files();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous[i], nullptr);
  }
  raise(signal_number);  // delivered when this handler returns
}

void install() {
  struct sigaction action = {};
  action.sa_handler = remove_and_pass_on;
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // where the program goes on, so does the writing
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    // What the parent wanted ignored stays ignored (nohup).
    if (previous[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

int register_path(const std::string& path) {
  const std::lock_guard lock(guard);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].used.load() || path.size() >= slots[i].path.size()) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].used.store(true);
    if (registered++ == 0) install();
    return static_cast<int>(i);
  }
  return -1;
}

void forget(int slot) {
  if (slot < 0) return;
  const std::lock_guard lock(guard);
  slots[static_cast<std::size_t>(slot)].used.store(false);
  if (--registered > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous[i], nullptr);
  }
}

[[noreturn]] void fail(const std::string& name) {
  throw DataError(fmt::format("{}: {}", name, std::generic_category().message(errno)));
}

// Between the file's birth and its registration no signal may come.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal_number : kSignals) sigaddset(&set, signal_number);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

int make(std::string& pattern, int& slot) {
  const BlockedSignals blocked;
  const int descriptor = mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor >= 0) slot = register_path(pattern);
  return descriptor;
}

}  // namespace

void remove_temporary_files() {
  for (Slot& slot : slots) {
    if (slot.used.load()) unlink(slot.path.data());
  }
}

TemporaryFile::TemporaryFile(std::string pattern, const std::string& name)
    : path_(std::move(pattern)), file_(make(path_, slot_)) {
  if (file_.get() < 0) fail(name);
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty() && file_.get() >= 0) unlink(path_.c_str());
  forget(slot_);
}

void TemporaryFile::rename_to(const std::string& path, const std::string& name) {
  // A network file system may say only here that the disk is full.
  const int descriptor = dup(file_.get());
  if (descriptor >= 0 && close(descriptor) != 0) fail(name);
  if (std::rename(path_.c_str(), path.c_str()) != 0) fail(name);
  file_.reset();
  path_.clear();
  forget(slot_);
  slot_ = -1;
}

}  // namespace attn
