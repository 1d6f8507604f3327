#include "io/byte_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/descriptor.h"
#include "io/system_error.h"

namespace attn {
namespace {

[[noreturn]] void fail_over_limit(const std::string& name, const std::string& size, Index limit) {
  throw DataError(fmt::format("{}: {}, over the limit of {} (--max-bytes)", name, size,
                              short_size_text(limit)));
}

}  // namespace

std::string input_name(const std::string& argument) {
  return argument == "-" ? "stdin" : escaped(argument, 4096);
}

ByteSource ByteSource::open(const std::string& argument, Index max_bytes) {
  ByteSource source;
  source.name_ = input_name(argument);
  const bool is_stdin = argument == "-";
  // A copy of stdin's descriptor shares its place in the file, and closing it leaves stdin open.
  const Descriptor file(is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(argument.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) fail_system(source.name_, errno);
  if (isatty(file.get()) != 0) {
    throw UsageError(fmt::format("{}: refusing to read from a terminal", source.name_),
                     {"give a file or a pipe"});
  }
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) fail_system(source.name_, errno);
  if (S_ISDIR(status.st_mode)) throw DataError(source.name_ + ": is a directory");

  // A shell may have left stdin in the middle of a file: then it is read on from there.
  const bool at_start = lseek(file.get(), 0, SEEK_CUR) == 0;
  if (S_ISREG(status.st_mode) && at_start && status.st_size > 0) {
    if (status.st_size > max_bytes) {
      fail_over_limit(source.name_, short_size_text(status.st_size), max_bytes);
    }
    source.map(file.get(), status.st_size);
  } else {
    source.read_stream(file.get(), max_bytes);
  }
  if (source.view_.empty()) {
    throw DataError(source.name_ + ": input is empty (did the command before the pipe fail?)");
  }
  return source;
}

ByteSource ByteSource::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  ByteSource source;
  source.name_ = escaped(name);
  source.owned_ = std::move(bytes);
  source.view_ = source.owned_;
  return source;
}

void ByteSource::map(int descriptor, Index size) {
  void* start =
      mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) fail_system(name_, errno);
  view_ = {static_cast<const std::byte*>(start), static_cast<std::size_t>(size)};
  mapped_ = true;
}

void ByteSource::read_stream(int descriptor, Index max_bytes) {
  const auto limit = static_cast<std::size_t>(max_bytes);
  std::size_t size = 0;
  std::size_t room = 0;
  while (true) {
    if (size == room) {
      room = std::max<std::size_t>(std::size_t{64} << 10, room * 2);
      // realloc and no vector: large blocks move without being copied, and what no byte has
      // reached yet takes no memory.
      void* larger = std::realloc(stream_.get(), room);
      if (larger == nullptr) throw std::bad_alloc();
      static_cast<void>(stream_.release());
      stream_.reset(static_cast<std::byte*>(larger));
    }
    const ssize_t got = read(descriptor, stream_.get() + size, room - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system(name_, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > limit) fail_over_limit(name_, "more input", max_bytes);
  }
  view_ = {stream_.get(), size};
}

void ByteSource::forget(Index first, Index count) const {
  if (!mapped_) return;
  const auto size = static_cast<Index>(view_.size());
  require_shape(first >= 0 && count >= 0 && first <= size && count <= size - first,
                "byte source: bytes beyond the end");
  // Whole pages within; the mapping begins at one.
  const Index page = sysconf(_SC_PAGESIZE);
  const Index from = (first + page - 1) / page * page;
  const Index to = (first + count) / page * page;
  if (to <= from) return;
  // Only advice: where it is not taken, nothing changes but the memory in use.
  static_cast<void>(madvise(const_cast<std::byte*>(view_.data()) + from,
                            static_cast<std::size_t>(to - from), MADV_DONTNEED));
}

ByteSource::ByteSource(ByteSource&& other) noexcept {
  *this = std::move(other);
}

ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(stream_, other.stream_);
  std::swap(owned_, other.owned_);  // a vector's buffer keeps its place, so the views stay good
  std::swap(view_, other.view_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

ByteSource::~ByteSource() {
  // munmap takes the address without const; nothing is written.
  if (mapped_) munmap(const_cast<std::byte*>(view_.data()), view_.size());
}

}  // namespace attn
