// A run that is interrupted in any way and gone on with writes the bytes of one that never was.

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <string>
#include <vector>

#include "core/index.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "support/process.h"

namespace attn {
namespace {

// As small as a model gets, with everything that a resumed run could get wrong: dropout, a rate
// that changes with every update, clipping, evaluations.
constexpr const char* kModel = "--dim 16 --heads 2 --depth 1 --batch 4 -q";
constexpr const char* kRecipe =
    "--dropout 0.2 --schedule cosine --warmup 5 --clip 0.5 --eval-every 7 "
    "--accumulate 2 --log-gradients";

class Resume : public ::testing::Test {
 protected:
  // A script that must succeed; returns what it prints.
  std::string sh(const std::string& script) {
    testing::RunOptions options;
    options.folder = folder_.path();
    options.timeout = std::chrono::seconds(240);
    const auto got = testing::run_shell("set -e\n" + script, options);
    EXPECT_EQ(got.status, 0) << script << "\n" << got.out << got.err;
    return got.out;
  }

  // Stops after k of 40 updates, goes on with other threads, and compares file and best file.
  void stops_anywhere(const std::string& task) {
    sh(fmt::format("tinygpt-train {} {} {} --steps 40 --best best.h5 -o whole.h5 > whole.txt", task,
                   kModel, kRecipe));
    for (const int k : {0, 1, 14, 39}) {
      sh(
          fmt::format("tinygpt-train {} {} {} --steps 40 --best b.h5 -o part.h5 --stop-after {} "
                      "--threads 1 > /dev/null\n"
                      "tinygpt-train {} --resume part.h5 --best b.h5 -o part.h5 -q --threads 3 "
                      "> part.txt\n"
                      "cmp whole.h5 part.h5 && cmp best.h5 b.h5 && cmp whole.txt part.txt\n",
                      task, kModel, kRecipe, k, task));
      if (HasFailure()) return;
    }
  }

  testing::TempFolder folder_;
};

TEST_F(Resume, Progressions) {
  stops_anywhere("--task progressions");
}
TEST_F(Resume, Copy) {
  stops_anywhere("--task copy");
}
TEST_F(Resume, Reverse) {
  stops_anywhere("--task reverse --label-smoothing 0.1");
}
TEST_F(Resume, Sort) {
  stops_anywhere("--task sort --position rope --norm post");
}
TEST_F(Resume, Masked) {
  stops_anywhere("--task masked --mask-fraction 0.3");
}
TEST_F(Resume, Induction) {
  stops_anywhere("--task induction --seq-len 16 --decay matrices --init gpt2");
}

// A rate that moves nothing: the third evaluation, after 14 of the 40 updates, is the last.
TEST_F(Resume, AnEarlyEnd) {
  stops_anywhere("--task progressions --lr 1e-30 --patience 2");
  EXPECT_NE(testing::file_text(folder_ / "part.txt").find("ended early"), std::string::npos);
}

TEST_F(Resume, AText) {
  sh("seq 1 60 > a.txt; seq 61 120 > b.txt");
  stops_anywhere("--text a.txt --text b.txt --seq-len 8");
}

TEST_F(Resume, TokenIds) {
  Hdf5Writer writer;
  std::vector<Index> ids;
  for (Index i = 0; i < 500; ++i) ids.push_back(i * i % 13);
  writer.dataset("/tokens", {500}, ids.data());
  write_output((folder_ / "stream.h5").string(), writer.finish());
  stops_anywhere("-i stream.h5 --seq-len 8 --vocab-size 20");
}

TEST_F(Resume, Lines) {
  sh("seq 1 60 > a.txt");
  stops_anywhere("--text a.txt --lines");
}

// Sources longer than what is to be said.
TEST_F(Resume, Pairs) {
  sh("for i in $(seq 40); do printf 'source-number-%d\\t%d\\n' $i $((i % 7)); done > pairs.tsv");
  stops_anywhere("--pairs pairs.tsv");
}

TEST_F(Resume, HiddenTokensOfAText) {
  sh("seq 1 120 > a.txt");
  stops_anywhere("--text a.txt --arch encoder --seq-len 8");
}

// Waits until a checkpoint is there, so that the signal meets a run at work.
constexpr const char* kUntilSaved =
    "while kill -0 $pid && ! test -e part.h5; do sleep 0.01; done; sleep 0.05";

TEST_F(Resume, SignalsFinishTheUpdateAndSave) {
  sh(fmt::format("tinygpt-train {} --dropout 0.1 --steps 2000 -o whole.h5 > /dev/null", kModel));
  for (const auto& [name, status] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    const std::string out = sh(
        fmt::format("rm -f part.h5\n"
                    // A background job of a shell ignores SIGINT, unless something gives it back.
                    "env --default-signal=INT tinygpt-train {} --dropout 0.1 --steps 2000 "
                    "--save-every 50 -o part.h5 > /dev/null &\n"
                    "pid=$!; {}; kill -{} $pid; code=0; wait $pid || code=$?; echo $code\n"
                    "cmp -s whole.h5 part.h5 && echo 'it had ended before the signal'\n"
                    "tinygpt-train --resume part.h5 -q -o part.h5 > /dev/null\n"
                    "cmp whole.h5 part.h5; ls -A | tr '\\n' ' '",
                    kModel, kUntilSaved, name));
    EXPECT_EQ(out, fmt::format("{}\npart.h5 whole.h5 ", status));
  }
}

TEST_F(Resume, KilledAtAnyMomentTheFileIsWholeAndTheBitsAreTheSame) {
  sh(fmt::format("tinygpt-train {} --dropout 0.1 --steps 4000 -o whole.h5 > /dev/null", kModel));
  // Twenty moments, at no fixed distance from the saves.
  sh(fmt::format(
      "tinygpt-train {} --dropout 0.1 --steps 4000 --stop-after 3 -o part.h5 > /dev/null\n"
      "for i in $(seq 20); do\n"
      "  tinygpt-train --resume part.h5 -q --save-every 3 -o part.h5 > /dev/null & pid=$!\n"
      "  sleep 0.0$((3 + i * 7 % 6)); kill -KILL $pid 2> /dev/null || true\n"
      "  wait $pid || true\n"
      "  tensor-show -q part.h5 --dataset /parameters/tokens.weight > /dev/null\n"
      "done\n"
      "tinygpt-train --resume part.h5 -q -o part.h5 > /dev/null\n"
      "cmp whole.h5 part.h5",
      kModel));
}

TEST_F(Resume, ThroughPipesACheckpointFileKeepsWhatIsDone) {
  sh(
      fmt::format("tinygpt-train {0} --steps 300 -o whole.h5 > /dev/null\n"
                  "tinygpt-train {0} --steps 300 --stop-after 100 -o - 2> /dev/null |\n"
                  "  tinygpt-train --resume - -q -o - 2> /dev/null > pipe.h5\n"
                  "cmp whole.h5 pipe.h5",
                  kModel));
  const std::string out = sh(
      fmt::format("tinygpt-train {0} --steps 100000000 --save-every 50 --checkpoint part.h5 -o - "
                  "> nothing & pid=$!\n"
                  "{1}; kill -TERM $pid; wait $pid || echo $?; wc -c < nothing\n"
                  "tinygpt-train --resume part.h5 --steps 100000000 --stop-after 1 -q -o x.h5 "
                  "> /dev/null; cmp part.h5 x.h5",
                  kModel, kUntilSaved));
  EXPECT_EQ(out, "143\n0\n");
}

TEST_F(Resume, HistoryTellsWhatWasChanged) {
  sh(
      fmt::format("tinygpt-train {} --steps 10 --stop-after 5 -o a.h5 > /dev/null\n"
                  "tinygpt-train --resume a.h5 --steps 20 --lr 0.001 -q -o b.h5 > /dev/null",
                  kModel));
  const std::string file = testing::file_text(folder_ / "b.h5");
  EXPECT_NE(file.find("tinygpt-train --dim 16 --heads 2 --depth 1 --steps 10 --batch 4\n"
                      "tinygpt-train --steps 20 --lr 0.001 (from step 5)"),
            std::string::npos);
}

}  // namespace
}  // namespace attn
