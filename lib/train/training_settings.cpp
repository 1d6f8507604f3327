#include "train/training_settings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "model/model_config.h"

namespace attn {
namespace {

// May a resumed run have another value?
enum class OnResume { kRefused, kAllowed };

// The table: every field with its name. Writing, reading and comparing go over it.
template <class Settings, class Visit>
void each_field(Settings& s, const Visit& visit) {
  constexpr OnResume kRefused = OnResume::kRefused;
  constexpr OnResume kAllowed = OnResume::kAllowed;
  auto& t = s.trainer;
  visit("task", s.task, kRefused);
  visit("data_digest", s.data_digest, kRefused);
  visit("seed", t.seed, kRefused);
  visit("init", s.init, kRefused);
  visit("steps", t.steps, kAllowed);
  visit("batch", t.batch, kAllowed);
  visit("accumulate", t.accumulate, kAllowed);
  visit("schedule", t.schedule, kAllowed);
  visit("lr", t.adamw.lr, kAllowed);
  visit("min_lr", t.min_lr, kAllowed);
  visit("warmup", t.warmup, kAllowed);
  visit("beta1", t.adamw.beta1, kAllowed);
  visit("beta2", t.adamw.beta2, kAllowed);
  visit("eps", t.adamw.eps, kAllowed);
  visit("weight_decay", t.adamw.weight_decay, kAllowed);
  visit("decay", t.decay, kAllowed);
  visit("clip", t.clip, kAllowed);
  visit("dropout", t.dropout, kAllowed);
  visit("label_smoothing", t.label_smoothing, kAllowed);
  visit("log_gradients", t.log_gradients, kAllowed);
  visit("eval_every", s.eval_every, kAllowed);
  visit("patience", s.patience, kAllowed);
}

// A field as a file has it.
Setting setting_of(const std::string& value) {
  return value;
}
Setting setting_of(Index value) {
  return value;
}
Setting setting_of(std::uint64_t value) {
  return static_cast<Index>(value);
}
Setting setting_of(bool value) {
  return Index{value ? 1 : 0};
}
Setting setting_of(double value) {
  return value;
}
Setting setting_of(ScheduleKind value) {
  return enum_name(value);
}
Setting setting_of(DecayScope value) {
  return enum_name(value);
}

// And back: what is wanted where it does not fit, else null.
const char* assign(std::string& field, const Setting& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return "text";
  field = *text;
  return nullptr;
}
const char* assign(Index& field, const Setting& value) {
  const auto* number = std::get_if<Index>(&value);
  if (number == nullptr) return "a whole number";
  field = *number;
  return nullptr;
}
const char* assign(std::uint64_t& field, const Setting& value) {
  Index number = 0;
  if (assign(number, value) != nullptr || number < 0) return "a whole number of at least 0";
  field = static_cast<std::uint64_t>(number);
  return nullptr;
}
const char* assign(bool& field, const Setting& value) {
  Index number = 0;
  if (assign(number, value) != nullptr || number < 0 || number > 1) return "0 or 1";
  field = number == 1;
  return nullptr;
}
const char* assign(double& field, const Setting& value) {
  if (const auto* whole = std::get_if<Index>(&value)) {
    field = static_cast<double>(*whole);
    return nullptr;
  }
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return "a number";
  field = *number;
  return nullptr;
}
template <class Enum>
const char* assign_enum(Enum& field, const Setting& value, const char* wanted) {
  const auto* text = std::get_if<std::string>(&value);
  const auto parsed = text != nullptr ? parse_enum<Enum>(*text) : std::nullopt;
  if (!parsed) return wanted;
  field = *parsed;
  return nullptr;
}
const char* assign(ScheduleKind& field, const Setting& value) {
  return assign_enum(field, value, "constant, linear, cosine or inverse_sqrt");
}
const char* assign(DecayScope& field, const Setting& value) {
  return assign_enum(field, value, "all or matrices");
}

const Setting* find(const SettingList& list, const std::string& name) {
  const auto at = std::find_if(list.begin(), list.end(),
                               [&](const auto& entry) { return entry.first == name; });
  return at == list.end() ? nullptr : &at->second;
}

// The list's own text, so that 1 and 1.0 are the same.
std::string text_in(const SettingList& list, const std::string& name) {
  const Setting* value = find(list, name);
  return value != nullptr ? setting_text(*value) : "";
}

[[noreturn]] void refuse(const std::string& file, const std::string& name,
                         const std::string& wanted, const std::string& got) {
  throw DataError(
      fmt::format("{}: /training: attribute {}: wanted {}, got '{}'", file, name, wanted, got));
}

// Sets a field where the list has something under its name.
template <class Field>
void take(const SettingList& list, const std::string& file, const char* name, Field& field) {
  const Setting* value = find(list, name);
  if (value == nullptr) return;
  if (const char* wanted = assign(field, *value)) refuse(file, name, wanted, setting_text(*value));
}

void require_least(const std::string& file, const char* name, Index value, Index least) {
  if (value < least) {
    refuse(file, name, fmt::format("at least {}", least), fmt::format("{}", value));
  }
}

// Those of TaskSettings that are numbers.
void check_task_setting(const std::string& file, const std::string& name, const Setting& value) {
  const auto is = [&](std::string_view wanted) { return name == wanted; };
  if (is("seq_len") || is("min_len") || is("modulus") || is("eval_windows")) {
    const Index least = is("eval_windows") ? 0 : 1;
    const auto* number = std::get_if<Index>(&value);
    if (number == nullptr || *number < least) {
      refuse(file, name, fmt::format("a whole number of at least {}", least), setting_text(value));
    }
  }
  if (is("mask_fraction") || is("val_fraction")) {
    double share = 0;
    if (assign(share, value) != nullptr || !(share > 0 && share < 1)) {
      refuse(file, name, "a number above 0 and below 1", setting_text(value));
    }
  }
}

// Nobody's command line made these values: a file did.
void check_ranges(const TrainingSettings& settings, const std::string& file) {
  if (const auto wrong = settings.trainer.out_of_range()) {
    refuse(file, wrong->name, wrong->wanted, wrong->got);
  }
  require_least(file, "eval_every", settings.eval_every, 1);
  require_least(file, "patience", settings.patience, 0);
  if (settings.init != "checkpoint" && !parse_enum<InitScheme>(settings.init)) {
    refuse(file, "init",
           fmt::format("checkpoint or {}", fmt::join(enum_names<InitScheme>(), " or ")),
           escaped(settings.init));
  }
  for (const auto& [name, value] : settings.task_settings) check_task_setting(file, name, value);
}

constexpr const char* kPooledBefore = "pooled_loss_before";
constexpr const char* kPooledLaterStep = "pooled_later_step";
constexpr const char* kPooledLater = "pooled_loss_later";

bool is_of_pooling(std::string_view name) {
  return name == kPooledBefore || name == kPooledLaterStep || name == kPooledLater;
}

std::optional<PooledLosses> pooled_in(const SettingList& list, const std::string& file) {
  if (find(list, kPooledBefore) == nullptr) return std::nullopt;
  PooledLosses pooled;
  take(list, file, kPooledBefore, pooled.before);
  take(list, file, kPooledLaterStep, pooled.later_step);
  require_least(file, kPooledLaterStep, pooled.later_step, 0);
  if (find(list, kPooledLater) != nullptr) take(list, file, kPooledLater, pooled.later.emplace());
  return pooled;
}

SettingList table_of(const TrainingSettings& settings) {
  SettingList list;
  each_field(settings, [&](const char* name, const auto& field, OnResume) {
    list.emplace_back(name, setting_of(field));
  });
  return list;
}

}  // namespace

Index uptraining_updates(Index earlier) {
  return earlier / 20 + (earlier % 20 > 0 ? 1 : 0);
}

SettingList to_list(const TrainingSettings& settings) {
  SettingList list = table_of(settings);
  list.insert(list.end(), settings.task_settings.begin(), settings.task_settings.end());
  if (settings.pooled) {
    list.emplace_back(kPooledBefore, settings.pooled->before);
    list.emplace_back(kPooledLaterStep, settings.pooled->later_step);
    if (settings.pooled->later) list.emplace_back(kPooledLater, *settings.pooled->later);
  }
  return list;
}

TrainingSettings from_list(const SettingList& list, const std::string& file) {
  TrainingSettings settings;
  SettingList table;
  each_field(settings, [&](const char* name, auto& field, OnResume) {
    table.emplace_back(name, Setting());
    take(list, file, name, field);
  });
  for (const auto& entry : list) {
    if (find(table, entry.first) == nullptr && !is_of_pooling(entry.first)) {
      settings.task_settings.push_back(entry);
    }
  }
  settings.pooled = pooled_in(list, file);
  check_ranges(settings, file);
  return settings;
}

std::string SettingChange::text() const {
  const auto shown = [](const std::string& value) { return value.empty() ? "not there" : value; };
  if (name == "data_digest") {
    return fmt::format("the data are others: their digest was {}, now {}", shown(was), shown(now));
  }
  std::string option = name;
  std::replace(option.begin(), option.end(), '_', '-');
  return fmt::format("--{} was {}, now {}", option, shown(was), shown(now));
}

std::vector<SettingChange> changes(const TrainingSettings& was, const TrainingSettings& now) {
  std::vector<SettingChange> found;
  const auto compare = [&](const std::string& name, const SettingList& old_list,
                           const SettingList& new_list, bool allowed) {
    SettingChange change{name, text_in(old_list, name), text_in(new_list, name), allowed};
    if (change.was != change.now) found.push_back(std::move(change));
  };
  const SettingList old_table = table_of(was);
  const SettingList new_table = table_of(now);
  each_field(was, [&](const char* name, const auto&, OnResume on_resume) {
    compare(name, old_table, new_table, on_resume == OnResume::kAllowed);
  });
  for (const auto& entry : was.task_settings) {
    compare(entry.first, was.task_settings, now.task_settings, false);
  }
  for (const auto& entry : now.task_settings) {
    if (find(was.task_settings, entry.first) == nullptr) {
      compare(entry.first, was.task_settings, now.task_settings, false);
    }
  }
  return found;
}

}  // namespace attn
