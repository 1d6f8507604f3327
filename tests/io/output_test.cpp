#include "io/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "io/temporary_file.h"
#include "support/process.h"
#include "support/pseudo_terminal.h"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::file_text;
using ::testing::HasSubstr;

class OutputTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  testing::TempFolder folder_;
};

template <class Problem, class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(OutputTest, NewFileHasTheModeOfNewFiles) {
  const mode_t before = umask(027);
  write_output(at("x"), "text");
  umask(before);
  EXPECT_EQ(file_text(at("x")), "text");
  struct stat status = {};
  ASSERT_EQ(stat(at("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, ReplacedFileKeepsItsModeAndLink) {
  write_output(at("real"), "old");
  chmod(at("real").c_str(), 0600);
  fs::create_symlink("real", at("link"));
  write_output(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(file_text(at("real")), "new");
  struct stat status = {};
  ASSERT_EQ(stat(at("real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(OutputTest, ALinkToWhatIsNotThereYetLeadsToTheNewFile) {
  fs::create_directory(at("folder"));
  fs::create_symlink("second", at("first"));
  fs::create_symlink("folder/new", at("second"));
  check_output(at("first"));
  write_output(at("first"), "text");
  EXPECT_TRUE(fs::is_symlink(at("first")));
  EXPECT_TRUE(fs::is_symlink(at("second")));
  EXPECT_EQ(file_text(at("folder/new")), "text");
}

TEST_F(OutputTest, ALinkToItselfIsRefused) {
  fs::create_symlink("round", at("round"));
  EXPECT_THROW(check_output(at("round")), DataError);
  EXPECT_THROW(write_output(at("round"), "text"), DataError);
  EXPECT_TRUE(fs::is_symlink(at("round")));
}

TEST_F(OutputTest, FifosAndDevicesAreWrittenNotReplaced) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = file_text(at("fifo")); });
  write_output(at("fifo"), "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
  write_output("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputTest, SaysWhyItCannotWrite) {
  EXPECT_EQ(complaint<DataError>([] { write_output("/dev/full", "x"); }),
            "/dev/full: No space left on device");
  EXPECT_EQ(complaint<DataError>([&] { write_output(at("no/x"), "x"); }),
            at("no/x") + ": No such file or directory");
  EXPECT_EQ(complaint<DataError>([&] { write_output(folder_.path(), "x"); }),
            folder_.path().string() + ": is a directory");
  EXPECT_EQ(complaint<DataError>([&] { check_output(at("no/x")); }),
            at("no/x") + ": No such file or directory");
  EXPECT_EQ(complaint<DataError>([&] { check_output(folder_.path()); }),
            folder_.path().string() + ": is a directory");
}

TEST_F(OutputTest, ANameAtItsLongestStillWorks) {
  write_output(at(std::string(255, 'n')), "x");
  EXPECT_EQ(file_text(at(std::string(255, 'n'))), "x");
}

TEST_F(OutputTest, TheInputIsNotReplaced) {
  write_output(at("a"), "x");
  fs::create_hard_link(at("a"), at("b"));
  fs::create_symlink("a", at("c"));
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_THAT(complaint<UsageError>([&] { check_output(at(name), {at("a")}); }),
                HasSubstr("the output would replace the input"))
        << name;
  }
  write_output(at("d"), "x");
  EXPECT_NO_THROW(check_output(at("d"), {at("a"), "-"}));
  EXPECT_NO_THROW(check_output(at("new"), {at("a")}));
}

TEST_F(OutputTest, TerminalIsRefused) {
  const testing::PseudoTerminal terminal;
  const std::string& path = terminal.path();
  if (path.empty()) GTEST_SKIP() << "needs a pseudo terminal";
  const std::string words = path + ": refusing to write binary data to a terminal";
  EXPECT_EQ(complaint<UsageError>([&] { check_output(path); }), words);
  EXPECT_EQ(complaint<UsageError>([&] { write_output(path, "x"); }), words);
}

TEST_F(OutputTest, InterruptRemovesTheTemporaryFile) {
  write_output(at("x"), "old");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = fork();
    if (child == 0) {
      signal(number, SIG_DFL);
      const TemporaryFile temporary(at(".x.XXXXXX"), "x", TemporaryFile::Birth::kNamed);
      raise(number);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number);
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(file_text(at("x")), "old");
}

volatile std::sig_atomic_t noted = 0;

TEST_F(OutputTest, AHandlerThatLetsTheProgramGoOnKeepsTheTemporaryFile) {
  struct sigaction note = {};
  struct sigaction before = {};
  note.sa_handler = [](int number) { noted = number; };
  sigemptyset(&note.sa_mask);
  sigaction(SIGTERM, &note, &before);
  {
    TemporaryFile temporary(at(".x.XXXXXX"), "x", TemporaryFile::Birth::kNamed);
    raise(SIGTERM);
    EXPECT_EQ(noted, SIGTERM);
    temporary.rename_to(at("x"), "x");
  }
  EXPECT_EQ(file_text(at("x")), "");
  {
    const TemporaryFile other(at(".y.XXXXXX"), "y", TemporaryFile::Birth::kNamed);
    EXPECT_EQ(files(), 2U);
    remove_temporary_files();
    EXPECT_EQ(files(), 1U);
  }
  sigaction(SIGTERM, &before, nullptr);
}

TEST_F(OutputTest, TemporaryFileGoesWithItsOwner) {
  {
    const TemporaryFile temporary(at(".x.XXXXXX"), "x", TemporaryFile::Birth::kNamed);
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

// How a process ends that does `work`: the signal that killed it, or 0.
template <class Work>
int signal_that_ends(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_F(OutputTest, AKilledProgramLeavesNothing) {
  write_output(at("old"), "old");
  const bool nameless = !TemporaryFile(at(".x.XXXXXX"), "x").has_name();
  if (!nameless) GTEST_SKIP() << "this file system has no nameless files";
  const auto die_in_the_middle = [&] {
    const TemporaryFile temporary(at(".x.XXXXXX"), "x");
    static_cast<void>(write(temporary.descriptor(), "half", 4) + raise(SIGKILL));
  };
  EXPECT_EQ(signal_that_ends(die_in_the_middle), SIGKILL);
  EXPECT_EQ(files(), 1U);
  for (const char* name : {"old", "new"}) {
    // Past the limit the first write comes back short and the second one kills.
    const auto write_past_the_limit = [&] {
      const rlimit no_core = {0, 0};
      const rlimit size = {1000, 1000};
      setrlimit(RLIMIT_CORE, &no_core);
      setrlimit(RLIMIT_FSIZE, &size);
      signal(SIGXFSZ, SIG_DFL);
      write_output(at(name), std::string(3000, 'x'));
    };
    EXPECT_EQ(signal_that_ends(write_past_the_limit), SIGXFSZ);
    EXPECT_EQ(files(), 1U) << name;
  }
  EXPECT_EQ(file_text(at("old")), "old");
}

TEST_F(OutputTest, ANamelessFileReplacesAnotherAndGivesItsOwnNameUp) {
  write_output(at("x"), "old");
  const int held = ::open(at("x").c_str(), O_RDONLY | O_CLOEXEC);
  TemporaryFile temporary(at(".x.XXXXXX"), "x");
  ASSERT_EQ(write(temporary.descriptor(), "new", 3), 3);
  temporary.rename_to(at("x"), "x");
  EXPECT_EQ(file_text(at("x")), "new");
  EXPECT_EQ(files(), 1U);
  // Who had the old file open still has it whole.
  std::string old(3, ' ');
  EXPECT_EQ(read(held, old.data(), old.size()), 3);
  EXPECT_EQ(old, "old");
  close(held);
}

TEST_F(OutputTest, AFileThatCannotBeReplacedLeavesNothing) {
  fs::create_directories(at("folder/full"));
  for (const auto birth :
       {TemporaryFile::Birth::kNamed, TemporaryFile::Birth::kNamelessIfPossible}) {
    EXPECT_EQ(complaint<DataError>(
                  [&] { TemporaryFile(at(".x.XXXXXX"), "x", birth).rename_to(at("folder"), "x"); }),
              "x: Is a directory");
    EXPECT_EQ(files(), 1U);
  }
}

}  // namespace
}  // namespace attn
