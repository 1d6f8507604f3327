#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_config.h"
#include "model/training_state.h"
#include "text/tokenizer.h"
#include "train/data_source.h"
#include "train/schedule.h"

namespace attn {

/// What to learn. Either one of the tasks by name, or data from files: text, pairs or token ids.
/// What is unset is the task's own choice.
struct TaskSettings {
  std::string name;          // one of task_names(); empty: what the files are, else progressions
  std::optional<Arch> arch;  // one of those that can learn the task
  std::uint64_t seed = 0;    // of the training batches; evaluation is the same for every seed

  std::optional<Index> seq_len;  // progressions, masked, induction: tokens of a sequence; copy,
                                 // reverse, sort: of what is read; text, tokens: of a window;
                                 // lines, pairs: at most, a longer one is refused
  std::optional<Index> min_len;  // copy, reverse, masked: of the shortest sequence
  std::optional<Index> modulus;  // progressions, masked: numbers; copy, reverse, sort: symbols;
                                 // induction: tokens
  std::optional<double> mask_fraction;  // masked, and text for an encoder: share of hidden tokens

  std::vector<std::string> text;         // files, one after another; "-" is stdin
  bool lines = false;                    // each line of the text is a document of its own
  std::string pairs;                     // a file of lines SOURCE TAB TARGET
  std::string tokens;                    // HDF5 with ids in /tokens: a stream, or a sequence a row
  std::string tokenizer = "characters";  // or "bytes", "gpt2"; of text, lines and pairs
  std::string vocab;                     // folder of GPT-2's files, for "gpt2"
  std::shared_ptr<const Tokenizer> tokenizer_from;  // an earlier run's, instead; null: none
  double held_out = 0.1;                            // share of the text, lines, pairs or rows
  Index eval_windows = 256;  // most held-out windows, lines or pairs of an evaluation; 0: all
  Index max_bytes = Index{4} << 30;  // of a file
};

/// What serves a task where nobody says otherwise: with these it reaches its accuracy.
struct TaskDefaults {
  Index seq_len = 12;
  Index batch = 128;
  Index steps = 1500;
  double lr = 3e-3;
  ScheduleKind schedule = ScheduleKind::kConstant;
  Index dim = 64;
  Index depth = 2;
};

/// What counts as right in an accuracy.
enum class AccuracyOf {
  kTargets,    // each judged target by itself
  kSequences,  // a sequence all of whose judged targets are right. With every earlier target right
               // this is what greedy decoding from the start gives
};

/// Something to learn: the sequences, how their tokens are written, and a number that the loss is
/// to be held against, so that nobody takes success for failure or failure for success.
struct Task {
  std::string name;   // as files call it: "progressions", "text"
  std::string about;  // one line for people
  Arch arch = Arch::kDecoder;
  std::unique_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string
      yardstick_name;  // "floor": no loss is lower; "unigram": a loss not lower is no success
  std::string yardstick_about;  // how it comes about
  double yardstick = 0;         // mean nats per target
  std::string evaluated_over;   // what evaluation runs over: "all 90 progressions"
  AccuracyOf accuracy_of = AccuracyOf::kTargets;
  std::string accuracy_about;    // what is counted: "targets from the third token on"
  std::optional<double> wanted;  // accuracy that training must reach; of a text none
  TaskDefaults defaults;
  /// What the batches depend on besides the seed and the data, as attributes of /training under the
  /// names of TaskSettings, which they make the same task of: with other values a run is another.
  SettingList settings;
  /// "xxh3-128:" and 32 digits over the files' content; empty where data come from no file.
  std::string data_digest;
};

/// The tasks that need no file, in the order in which help lists them.
const std::vector<std::string>& task_names();
/// Of a name in task_names(), "text", "lines", "pairs" or "tokens".
TaskDefaults task_defaults(std::string_view name);
/// The arrangements that can learn it; the first is the task's own.
const std::vector<Arch>& task_archs(std::string_view name);

/// Throws UsageError for an unknown name (with the nearest one), an arrangement that cannot learn
/// the task, and settings out of range; DataError for files that cannot be read or are too short.
Task make_task(const TaskSettings& settings);

}  // namespace attn
