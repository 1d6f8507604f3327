#include "io/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "io/descriptor.h"
#include "io/system_error.h"
#include "io/temporary_file.h"

namespace attn {
namespace {

[[noreturn]] void refuse_terminal(const std::string& name) {
  throw UsageError(name + ": refusing to write binary data to a terminal",
                   {"use -o FILE or a pipe"});
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) {
      // Reached only where a parent had SIGPIPE ignored: die as quietly as the default does.
      signal(SIGPIPE, SIG_DFL);
      raise(SIGPIPE);
    }
    if (written < 0) fail_system(name, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// What a path stands for, so that symbolic links survive: also where they lead to a file that is
// not there yet.
std::string behind_links(const std::string& path) {
  if (char* real = realpath(path.c_str(), nullptr)) {
    std::string target = real;
    std::free(real);
    return target;
  }
  // What the system can follow and a path cannot: /dev/stdout, where that is a pipe.
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) return path;
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the system follows
  fs::path place = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(place, error); ++links) {
    const fs::path target = fs::read_symlink(place, error);
    if (error) break;
    place = place.parent_path() / target;  // an absolute target stands for itself
  }
  return place.string();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// ".NAME.XXXXXX" beside the file; a name at the system's limit of 255 bytes is cut for it.
std::string temporary_pattern(const std::string& path) {
  constexpr std::size_t kMostOfName = 240;
  const std::string base = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return folder_of(path) + "/." + base.substr(0, kMostOfName) + ".XXXXXX";
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Some file systems cannot; the file itself is on disk already.
  static_cast<void>(fsync(descriptor));
  close(descriptor);
}

void replace_file(const std::string& path, mode_t mode, std::span<const std::byte> bytes,
                  const std::string& name) {
  TemporaryFile temporary(temporary_pattern(path), name);
  // Some file systems have no modes.
  static_cast<void>(fchmod(temporary.descriptor(), mode));
  write_all(temporary.descriptor(), bytes, name);
  if (fsync(temporary.descriptor()) != 0 && errno != EINVAL && errno != EROFS)
    fail_system(name, errno);
  temporary.rename_to(path, name);
  sync_folder(folder_of(path));
}

mode_t mode_of_new_files() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

std::string output_name(const std::string& destination) {
  return destination == "-" ? "stdout" : escaped(destination, 4096);
}

void check_output(const std::string& destination, const std::vector<std::string>& inputs) {
  const std::string name = output_name(destination);
  const bool to_stdout = destination == "-";
  struct stat status = {};
  const int found = to_stdout ? fstat(STDOUT_FILENO, &status) : stat(destination.c_str(), &status);
  if (to_stdout && found != 0) fail_system(name, errno);
  if (found != 0) {
    if (errno == ELOOP || errno == ENOTDIR) fail_system(name, errno);
    const std::string folder = folder_of(behind_links(destination));
    if (access(folder.c_str(), W_OK | X_OK) != 0) fail_system(name, errno);
    return;
  }
  if (S_ISDIR(status.st_mode)) throw DataError(name + ": is a directory");
  if (S_ISCHR(status.st_mode)) {
    const int descriptor =
        to_stdout ? STDOUT_FILENO : ::open(destination.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    const bool terminal = descriptor >= 0 && isatty(descriptor) != 0;
    if (!to_stdout && descriptor >= 0) close(descriptor);
    if (terminal) refuse_terminal(name);
  }
  if (!S_ISREG(status.st_mode)) return;
  for (const std::string& input : inputs) {
    struct stat other = {};
    const int got = input == "-" ? fstat(STDIN_FILENO, &other) : stat(input.c_str(), &other);
    if (got == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino) {
      const std::string input_name = input == "-" ? "stdin" : output_name(input);
      throw UsageError(fmt::format("{}: the output would replace the input{}", name,
                                   input == destination ? "" : " " + input_name));
    }
  }
}

void write_output(const std::string& destination, std::span<const std::byte> bytes) {
  const std::string name = output_name(destination);
  if (destination == "-") {
    if (isatty(STDOUT_FILENO) != 0) refuse_terminal(name);
    write_all(STDOUT_FILENO, bytes, name);
    return;
  }
  const std::string path = behind_links(destination);
  struct stat status = {};
  const bool there = stat(path.c_str(), &status) == 0;
  if (!there && errno == ELOOP) fail_system(name, errno);
  if (there && S_ISDIR(status.st_mode)) throw DataError(name + ": is a directory");
  if (!there || S_ISREG(status.st_mode)) {
    replace_file(path, there ? status.st_mode & 07777 : mode_of_new_files(), bytes, name);
    return;
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) fail_system(name, errno);
  const Descriptor file(descriptor);
  if (isatty(descriptor) != 0) refuse_terminal(name);
  write_all(descriptor, bytes, name);
}

void write_output(const std::string& destination, std::string_view text) {
  write_output(destination, std::as_bytes(std::span(text)));
}

}  // namespace attn
