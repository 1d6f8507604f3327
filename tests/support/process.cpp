#include "support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/places.h"

namespace attn::testing {
namespace {

[[noreturn]] void become_shell(const std::string& command, const RunOptions& options,
                               const std::string& out, const std::string& err) {
  setpgid(0, 0);
  // A test runner may ignore SIGPIPE; a shell's children must not inherit that.
  signal(SIGPIPE, SIG_DFL);
  const auto redirect = [](const std::string& path, int flags, int target) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, target) < 0) _exit(126);
  };
  redirect(options.stdin_file, O_RDONLY, STDIN_FILENO);
  redirect(out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  redirect(err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  if (chdir(options.folder.c_str()) != 0) _exit(126);
  for (const char* name : {"NO_COLOR", "COLUMNS", "COLORTERM", "OMP_NUM_THREADS", "CI"})
    unsetenv(name);
  const char* path = std::getenv("PATH");
  setenv("PATH", (program_folder().string() + ":" + (path != nullptr ? path : "")).c_str(), 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("TERM", "xterm-256color", 1);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  execl("/bin/bash", "bash", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

RunResult run_shell(const std::string& command, const RunOptions& options) {
  const TempFolder capture;
  const std::string out = capture / "out";
  const std::string err = capture / "err";
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("run_shell: fork failed");
  if (child == 0) become_shell(command, options, out, err);

  RunResult result;
  int status = 0;
  rusage usage{};
  for (;;) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child) break;
    if (!result.timed_out && std::chrono::steady_clock::now() - start > options.timeout) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  kill(-child, SIGKILL);  // what a pipeline may have left behind
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.peak_rss_kib = usage.ru_maxrss;
  result.out = file_text(out);
  result.err = file_text(err);
  return result;
}

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attntools-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("TempFolder: mkdtemp failed");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace attn::testing
