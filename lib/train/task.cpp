#include "train/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "train/file_tasks.h"
#include "train/toy_tasks.h"

namespace attn {
namespace {

// A task by name, and by what its data are where they come from files.
struct KnownTask {
  std::string name;
  std::vector<Arch> archs;  // the task's own first
  TaskDefaults defaults;
  std::vector<std::string>
      uses;  // of --min-len, --modulus, --mask-fraction: what says something of it
  bool from_files = false;
};

const std::vector<KnownTask>& known_tasks() {
  static const std::vector<KnownTask> known = [] {
    using enum Arch;
    const TaskDefaults tutorial;
    // AdamW at a constant rate now and then leaps out of what it had learned. These are judged at
    // the end, so their rate goes down to nothing.
    TaskDefaults settling = tutorial;
    settling.schedule = ScheduleKind::kCosine;
    TaskDefaults strings = settling;
    strings.seq_len = 10;
    strings.steps = 1000;
    strings.lr = 1e-3;
    TaskDefaults sort = settling;
    sort.seq_len = 6;
    sort.steps = 500;
    TaskDefaults masked = settling;
    masked.steps = 3000;
    masked.lr = 2e-3;
    TaskDefaults induction = settling;
    induction.seq_len = 32;
    induction.steps = 500;
    TaskDefaults text = tutorial;
    text.seq_len = 64;
    text.batch = 32;
    text.steps = 1000;
    const std::vector<std::string> of_strings{"modulus", "min-len"};
    const std::vector<std::string> of_windows{"mask-fraction"};
    return std::vector<KnownTask>{
        {"progressions", {kDecoder}, tutorial, {"modulus"}},
        {"copy", {kEncoderDecoder, kDecoder}, strings, of_strings},
        {"reverse", {kEncoderDecoder, kDecoder}, strings, of_strings},
        {"sort", {kDecoder, kEncoderDecoder}, sort, of_strings},
        // The decoder sees one side alone: what it cannot learn shows what both sides are good for.
        {"masked", {kEncoder, kDecoder}, masked, {"modulus", "min-len", "mask-fraction"}},
        {"induction", {kDecoder}, induction, {"modulus"}},
        {"text", {kDecoder, kEncoder}, text, of_windows, true},
        {"tokens", {kDecoder, kEncoder}, text, of_windows, true},
        {"lines", {kDecoder}, text, {}, true},
        {"pairs", {kEncoderDecoder, kDecoder}, text, {}, true},
    };
  }();
  return known;
}

[[noreturn]] void refuse_unknown(std::string_view name) {
  const std::string near = nearest_word(name, task_names());
  std::vector<std::string> hints;
  if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
  throw UsageError(fmt::format("--task: there is no task '{}', but {}", escaped(name),
                               fmt::join(task_names(), ", ")),
                   hints);
}

const KnownTask& known_task(std::string_view name) {
  for (const KnownTask& task : known_tasks()) {
    if (task.name == name) return task;
  }
  refuse_unknown(name);
}

// What there is to learn, which one option says.
std::string task_name(const TaskSettings& settings) {
  std::vector<std::string> said;
  if (!settings.name.empty()) said.push_back("--task " + settings.name);
  if (!settings.text.empty()) said.emplace_back("--text");
  if (!settings.pairs.empty()) said.emplace_back("--pairs");
  if (!settings.tokens.empty()) said.emplace_back("--input");
  if (said.size() > 1) {
    throw UsageError(fmt::format("{} and {} are two things to learn", said[0], said[1]));
  }
  if (settings.lines && settings.text.empty()) {
    throw UsageError("--lines is only for --text");
  }
  const std::vector<std::string>& names = task_names();
  if (!settings.name.empty() &&
      std::find(names.begin(), names.end(), settings.name) == names.end()) {
    refuse_unknown(settings.name);
  }
  if (!settings.text.empty()) return settings.lines ? "lines" : "text";
  if (!settings.pairs.empty()) return "pairs";
  if (!settings.tokens.empty()) return "tokens";
  return settings.name.empty() ? "progressions" : settings.name;
}

void refuse_idle_settings(const TaskSettings& settings, const KnownTask& task) {
  const auto refuse = [&](const char* option, bool given) {
    if (given && std::find(task.uses.begin(), task.uses.end(), option) == task.uses.end()) {
      throw UsageError(fmt::format("--{} says nothing of {}", option, task.name));
    }
  };
  refuse("min-len", settings.min_len.has_value());
  refuse("modulus", settings.modulus.has_value());
  refuse("mask-fraction", settings.mask_fraction.has_value());
}

Arch arch_of(const TaskSettings& settings, const KnownTask& task) {
  const Arch arch = settings.arch.value_or(task.archs.front());
  if (std::find(task.archs.begin(), task.archs.end(), arch) != task.archs.end()) return arch;
  std::vector<std::string> can;
  for (const Arch possible : task.archs) can.push_back(enum_name(possible));
  throw UsageError(fmt::format("--arch {} cannot learn {}", enum_name(arch), task.name),
                   {fmt::format("it is for --arch {}", fmt::join(can, " or "))});
}

Task make_by_name(const std::string& name, const TaskSettings& settings, Arch arch,
                  const TaskDefaults& defaults) {
  if (name == "progressions") return progressions_task(settings);
  if (name == "copy") return copy_task(settings, arch);
  if (name == "reverse") return reverse_task(settings, arch);
  if (name == "sort") return sort_task(settings, arch);
  if (name == "masked") return masked_task(settings);
  if (name == "induction") return induction_task(settings);
  if (name == "text") return text_file_task(settings, arch, defaults.seq_len);
  if (name == "tokens") return tokens_task(settings, arch, defaults.seq_len);
  if (name == "lines") return lines_task(settings);
  return pairs_task(settings, arch);
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
  const KnownTask& known = known_task(task_name(settings));
  const Arch arch = arch_of(settings, known);
  refuse_idle_settings(settings, known);
  Task task = make_by_name(known.name, settings, arch, known.defaults);
  task.name = known.name;
  task.arch = arch;
  task.defaults = known.defaults;
  return task;
}

}  // namespace attn
