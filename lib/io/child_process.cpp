#include "io/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>

#include "io/descriptor.h"

namespace attn {
namespace {

#ifndef ATTNTOOLS_ASAN
// Bytes of address space that the process has now, from /proc; 0 where that cannot be read.
std::size_t address_space() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long pages = 0;
  const int got = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return got == 1 ? pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

#endif

void set_limits(const ChildLimits& limits) {
  const auto limit = [](__rlimit_resource what, rlim_t value) {
    const rlimit both = {value, value};
    setrlimit(what, &both);
  };
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu_seconds));
#ifndef ATTNTOOLS_ASAN
  if (const std::size_t now = address_space(); now > 0) {
    limit(RLIMIT_AS, now + limits.extra_memory);
  }
#endif
}

[[noreturn]] void be_child(const std::function<std::string()>& work, const ChildLimits& limits,
                           int answer) {
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) signal(crash, SIG_DFL);
  signal(SIGVTALRM, SIG_IGN);  // the crash guard's patience; a child has its own limit
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  set_limits(limits);
  int status = 0;
  try {
    const std::string text = work();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = write(answer, text.data() + at, text.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
  } catch (...) {
    status = 1;
  }
  // Not exit: what stdio has buffered belongs to the parent.
  _exit(status);
}

std::string trouble_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? "" : "failed";
  const int number = WTERMSIG(status);
  return number == SIGXCPU || number == SIGKILL ? "took too long" : "crashed";
}

}  // namespace

ChildAnswer run_in_child(const std::function<std::string()>& work, const ChildLimits& limits) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {"", "could not be started"};
  Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t child = fork();
  if (child < 0) return {"", "could not be started"};
  if (child == 0) be_child(work, limits, to.get());
  to.reset();
  ChildAnswer answer;
  std::array<char, 65536> part;
  while (true) {
    const ssize_t got = read(from.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.text.append(part.data(), static_cast<std::size_t>(got));
    if (answer.text.size() > limits.answer_bytes) {
      kill(child, SIGKILL);
      break;
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  answer.trouble = trouble_of(status);
  return answer;
}

}  // namespace attn
