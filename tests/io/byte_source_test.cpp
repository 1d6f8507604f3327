#include "io/byte_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/error.h"
#include "support/process.h"
#include "support/pseudo_terminal.h"

namespace attn {
namespace {

constexpr Index kLimit = 1 << 20;

std::string text_of(const ByteSource& source) {
  return {reinterpret_cast<const char*>(source.bytes().data()), source.bytes().size()};
}

template <class Problem>
std::string complaint(const std::string& argument, Index limit = kLimit) {
  try {
    ByteSource::open(argument, limit);
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

class ByteSourceTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) const {
    const std::string path = folder_ / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  testing::TempFolder folder_;
};

TEST_F(ByteSourceTest, ReadsAFileAndAFifo) {
  const std::string path = file("some bytes");
  EXPECT_EQ(text_of(ByteSource::open(path, kLimit)), "some bytes");
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string much(300000, 'x');  // more than a pipe and the first buffer hold
  std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << much; });
  const ByteSource source = ByteSource::open(fifo, kLimit);
  writer.join();
  EXPECT_EQ(text_of(source), much);
}

TEST_F(ByteSourceTest, StdinIsReadFromWhereItStands) {
  const int saved = dup(STDIN_FILENO);
  const int opened = open(file("first second").c_str(), O_RDONLY);
  dup2(opened, STDIN_FILENO);
  lseek(STDIN_FILENO, 6, SEEK_SET);
  const ByteSource source = ByteSource::open("-", kLimit);
  dup2(saved, STDIN_FILENO);
  close(opened);
  close(saved);
  EXPECT_EQ(text_of(source), "second");
  EXPECT_EQ(source.name(), "stdin");
}

TEST_F(ByteSourceTest, SaysWhatIsWrong) {
  const std::string empty = file("");
  EXPECT_EQ(complaint<DataError>(empty),
            empty + ": input is empty (did the command before the pipe fail?)");
  EXPECT_EQ(complaint<DataError>("/nowhere/x.h5"), "/nowhere/x.h5: No such file or directory");
  EXPECT_EQ(complaint<DataError>("/tmp"), "/tmp: is a directory");
  const std::string large = file(std::string(5000, 'x'));
  EXPECT_EQ(complaint<DataError>(large, 4096), large +
                                                   ": 4.88 KiB, over the limit of 4 KiB "
                                                   "(--max-bytes)");
  EXPECT_EQ(complaint<DataError>("/dev/zero", 100000),
            "/dev/zero: more input, over the limit of 97.7 KiB (--max-bytes)");
}

TEST_F(ByteSourceTest, RefusesATerminal) {
  const testing::PseudoTerminal terminal;
  const std::string& path = terminal.path();
  if (path.empty()) GTEST_SKIP() << "needs a pseudo terminal";
  EXPECT_EQ(complaint<UsageError>(path), path + ": refusing to read from a terminal");
}

TEST_F(ByteSourceTest, ForgottenBytesComeBack) {
  std::string text(100000, 'a');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  const ByteSource source = ByteSource::open(file(text), kLimit);
  EXPECT_EQ(text_of(source), text);
  source.forget(0, 100000);
  EXPECT_EQ(text_of(source), text);
  source.forget(5000, 50000);
  EXPECT_EQ(text_of(source), text);
  // What lies beyond is somebody else's memory.
  EXPECT_THROW(source.forget(0, 100001), ShapeError);
  EXPECT_THROW(source.forget(-1, 1), ShapeError);
}

TEST_F(ByteSourceTest, MovedBytesStay) {
  ByteSource first = ByteSource::from_bytes({std::byte{'a'}, std::byte{'b'}}, "memory");
  const ByteSource second = std::move(first);
  EXPECT_EQ(text_of(second), "ab");
}

}  // namespace
}  // namespace attn
