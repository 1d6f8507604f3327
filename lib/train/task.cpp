#include "train/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "text/char_tokenizer.h"
#include "train/toy_tasks.h"

namespace attn {
namespace {

// A task by name, and by what its data are where they come from files.
struct KnownTask {
  std::string name;
  std::vector<Arch> archs;  // the task's own first
  TaskDefaults defaults;
  bool from_files;
};

const std::vector<KnownTask>& known_tasks() {
  static const std::vector<KnownTask> known = {
      {"progressions", {Arch::kDecoder}, {}, false},
      {"copy", {Arch::kEncoderDecoder, Arch::kDecoder}, {.seq_len = 10}, false},
      {"reverse", {Arch::kEncoderDecoder, Arch::kDecoder}, {.seq_len = 10}, false},
      {"sort", {Arch::kDecoder, Arch::kEncoderDecoder}, {.seq_len = 6}, false},
      // The decoder sees one side alone: what it cannot learn shows what both sides are good for.
      {"masked", {Arch::kEncoder, Arch::kDecoder}, {}, false},
      {"induction", {Arch::kDecoder}, {.seq_len = 32}, false},
      {"text", {Arch::kDecoder}, {.seq_len = 64, .batch = 32, .steps = 1000}, true},
  };
  return known;
}

const KnownTask& known_task(std::string_view name) {
  for (const KnownTask& task : known_tasks()) {
    if (task.name == name) return task;
  }
  const std::string near = nearest_word(name, task_names());
  std::vector<std::string> hints;
  if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
  throw UsageError(fmt::format("--task: there is no task '{}', but {}", escaped(name),
                               fmt::join(task_names(), ", ")),
                   hints);
}

std::string task_name(const TaskSettings& settings) {
  if (!settings.name.empty()) return settings.name;
  return settings.text.empty() ? "progressions" : "text";
}

}  // namespace

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const KnownTask& task : known_tasks()) {
      if (!task.from_files) found.push_back(task.name);
    }
    return found;
  }();
  return names;
}

TaskDefaults task_defaults(std::string_view name) {
  return known_task(name).defaults;
}

const std::vector<Arch>& task_archs(std::string_view name) {
  return known_task(name).archs;
}

Task make_task(const TaskSettings& settings) {
  const std::string name = task_name(settings);
  const KnownTask& known = known_task(name);
  const Arch arch = settings.arch.value_or(known.archs.front());
  if (std::find(known.archs.begin(), known.archs.end(), arch) == known.archs.end()) {
    std::vector<std::string> can;
    for (const Arch possible : known.archs) can.push_back(enum_name(possible));
    throw UsageError(fmt::format("--arch {} cannot learn {}", enum_name(arch), name),
                     {fmt::format("it is for --arch {}", fmt::join(can, " or "))});
  }
  Task task;
  if (name == "progressions") {
    task = progressions_task(settings);
  } else if (name == "copy") {
    task = copy_task(settings, arch);
  } else if (name == "reverse") {
    task = reverse_task(settings, arch);
  } else if (name == "sort") {
    task = sort_task(settings, arch);
  } else if (name == "masked") {
    task = masked_task(settings);
  } else if (name == "induction") {
    task = induction_task(settings);
  } else {
    const ByteSource source = ByteSource::open(settings.text.front(), settings.max_bytes);
    TextWindows::Settings windows;
    windows.seq_len = settings.seq_len.value_or(known.defaults.seq_len);
    windows.held_out = settings.held_out;
    windows.seed = settings.seed;
    task = text_task(as_text(source.bytes()), source.name(), windows);
  }
  task.name = name;
  task.arch = arch;
  task.defaults = known.defaults;
  task.settings.emplace(task.settings.begin(), "seq_len", task.data->seq_len());
  return task;
}

Task progressions_task(Index seq_len, std::uint64_t seed) {
  TaskSettings settings;
  settings.seq_len = seq_len;
  settings.seed = seed;
  return make_task(settings);
}

Task text_task(std::string_view text, const std::string& name,
               const TextWindows::Settings& settings) {
  auto tokenizer = CharTokenizer::from_text(text, name);
  auto data = std::make_unique<TextWindows>(tokenizer->encode(text), tokenizer->vocab_size(),
                                            settings, name);
  Task task;
  task.name = "text";
  task.about = fmt::format("{}: {} characters, {} distinct; the last {} are held out", name,
                           grouped(data->training_tokens() + data->held_out_tokens()),
                           tokenizer->vocab_size(), grouped(data->held_out_tokens()));
  task.yardstick_name = "unigram";
  task.yardstick_about = "guessing by the characters' frequencies alone";
  task.yardstick = data->unigram_entropy();
  task.evaluated_over = fmt::format("{} held-out windows", data->evaluation_batch().batch);
  task.tokenizer = std::move(tokenizer);
  task.data = std::move(data);
  return task;
}

}  // namespace attn
