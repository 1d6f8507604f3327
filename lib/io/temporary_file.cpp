#include "io/temporary_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <string_view>
#include <utility>

#include "io/system_error.h"

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

int make_named(std::string& pattern, int& slot) {
  const BlockedSignals blocked;
  const int descriptor = mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor >= 0) slot = register_path(pattern);
  return descriptor;
}

// The one door through which an ordinary user may link a nameless file.
std::string door(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

// A descriptor, or -1 where the file system or the kernel has no such files, or /proc is missing.
int make_nameless(const std::string& pattern) {
  const std::string folder = pattern.substr(0, pattern.rfind('/') + 1) + ".";
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor >= 0 && access(door(descriptor).c_str(), F_OK) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

// Gives a nameless file a name that is free. False with errno.
bool link_to(int descriptor, const std::string& path) {
  return linkat(AT_FDCWD, door(descriptor).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// `pattern` with letters for its XXXXXX.
std::string random_name(std::string pattern) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  for (std::size_t i = pattern.size() - 6; i < pattern.size(); ++i) {
    pattern[i] = kLetters[random() % kLetters.size()];
  }
  return pattern;
}

}  // namespace

void remove_temporary_files() {
  for (Slot& slot : slots) {
    if (slot.used.load()) unlink(slot.path.data());
  }
}

TemporaryFile::TemporaryFile(std::string pattern, const std::string& name, Birth birth)
    : path_(std::move(pattern)),
      has_name_(false),
      file_(birth == Birth::kNamed ? -1 : make_nameless(path_)) {
  if (file_.get() >= 0) return;
  file_ = Descriptor(make_named(path_, slot_));
  if (file_.get() < 0) fail_system(name, errno);
  has_name_ = true;
}

TemporaryFile::~TemporaryFile() {
  if (has_name_ && file_.get() >= 0) unlink(path_.c_str());
  forget(slot_);
}

bool TemporaryFile::take_name() {
  for (int tries = 0; tries < 100; ++tries) {
    const BlockedSignals blocked;
    const std::string path = random_name(path_);
    if (link_to(file_.get(), path)) {
      path_ = path;
      slot_ = register_path(path_);
      has_name_ = true;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

void TemporaryFile::rename_to(const std::string& path, const std::string& name) {
  // A network file system may say only here that the disk is full.
  const int descriptor = dup(file_.get());
  if (descriptor >= 0 && close(descriptor) != 0) fail_system(name, errno);
  // A new file gets its name at once. One that replaces another needs a name to be renamed from.
  const bool done = !has_name_ && link_to(file_.get(), path);
  if (!done) {
    if (!has_name_ && !take_name()) fail_system(name, errno);
    if (std::rename(path_.c_str(), path.c_str()) != 0) fail_system(name, errno);
  }
  file_.reset();
  has_name_ = false;
  forget(slot_);
  slot_ = -1;
}

}  // namespace attn
