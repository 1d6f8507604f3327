#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

namespace attn::testing {

struct RunOptions {
  std::filesystem::path folder = ".";  // working folder
  std::string stdin_file = "/dev/null";
  std::map<std::string, std::string> environment;  // beside and over the usual one
  std::chrono::seconds timeout{60};
};

struct RunResult {
  int status = 0;  // exit status; 128 + the signal's number where a signal ended it
  bool timed_out = false;
  std::string out;
  std::string err;
  double seconds = 0;
  long peak_rss_kib = 0;  // of the largest process
};

/// Runs `bash -c COMMAND` with the built programs first in PATH, a UTF-8 locale and nothing of
/// NO_COLOR, COLUMNS, COLORTERM or OMP_NUM_THREADS set. What it started is killed after the
/// timeout.
RunResult run_shell(const std::string& command, const RunOptions& options = {});

/// A new empty folder, removed with everything in it when this ends.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The whole of a file; throws std::runtime_error where it cannot be read.
std::string file_text(const std::filesystem::path& path);

}  // namespace attn::testing
