#include "model/training_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// Attributes of /training that are no settings.
constexpr const char* kStep = "step";
constexpr const char* kBestStep = "best_step";
constexpr const char* kBestLoss = "best_loss";

template <class T>
void write_curve(Hdf5Writer& writer, const std::string& name, const std::vector<T>& values) {
  writer.dataset("/training/" + name, {static_cast<Index>(values.size())}, values.data());
}

// In order of name, as they are read back: a state that was read is written as the same bytes.
void write_settings(Hdf5Writer& writer, SettingList settings) {
  std::stable_sort(settings.begin(), settings.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& setting : settings) {
    std::visit([&](const auto& value) { writer.attribute("/training", setting.first, value); },
               setting.second);
  }
}

void write_losses(Hdf5Writer& writer, const std::vector<double>& losses) {
  if (losses.empty()) return;
  std::vector<Index> updates(losses.size());
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i] = static_cast<Index>(i) + 1;
  write_curve(writer, "updates", updates);
  write_curve(writer, "losses", losses);
  writer.scale("/training/losses", 0, "/training/updates", "update");
}

void write_evaluations(Hdf5Writer& writer, const std::vector<EvaluationPoint>& evaluations) {
  if (evaluations.empty()) return;
  const EvaluationPoint* best = best_evaluation(evaluations);
  writer.attribute("/training", kBestStep, best->step);
  writer.attribute("/training", kBestLoss, best->loss);
  const auto curve = [&](const std::string& name, const auto& value_of) {
    std::vector<decltype(value_of(evaluations.front()))> values;
    values.reserve(evaluations.size());
    for (const EvaluationPoint& point : evaluations) values.push_back(value_of(point));
    write_curve(writer, name, values);
    if (name == "evaluation_steps") return;
    writer.scale("/training/" + name, 0, "/training/evaluation_steps", "update");
  };
  curve("evaluation_steps", [](const EvaluationPoint& point) { return point.step; });
  curve("evaluation_losses", [](const EvaluationPoint& point) { return point.loss; });
  curve("evaluation_accuracies", [](const EvaluationPoint& point) { return point.accuracy; });
  curve("evaluation_exact_shares", [](const EvaluationPoint& point) { return point.exact; });
  const bool sampled =
      std::any_of(evaluations.begin(), evaluations.end(),
                  [](const EvaluationPoint& point) { return point.sample_loss.has_value(); });
  if (!sampled) return;
  curve("evaluation_sample_losses", [](const EvaluationPoint& point) {
    return point.sample_loss.value_or(std::numeric_limits<double>::quiet_NaN());
  });
}

void write_gradient_log(Hdf5Writer& writer, const GradientLog& log,
                        const std::vector<ParamInfo>& layout) {
  if (log.updates.empty()) return;
  std::vector<std::string> names;
  names.reserve(layout.size());
  for (const ParamInfo& info : layout) names.push_back(info.name);
  const auto updates = static_cast<Index>(log.updates.size());
  write_curve(writer, "gradient_updates", log.updates);
  writer.labels("/training/gradient_parameters", names);
  writer.dataset("/training/gradient_norms", {updates, static_cast<Index>(names.size())},
                 log.norms.data());
  writer.scale("/training/gradient_norms", 0, "/training/gradient_updates", "update");
  writer.scale("/training/gradient_norms", 1, "/training/gradient_parameters", "parameter");
}

// Throws unless the dataset is there and of the shape; -1 is any extent.
Shape require_dataset(const Hdf5Reader& reader, const std::string& path, const Shape& wanted) {
  const auto text = [&] { return wanted == Shape{-1} ? std::string("(n)") : shape_text(wanted); };
  if (!reader.has_dataset(path)) {
    throw DataError(fmt::format("{}: {} is missing: wanted shape {}", reader.name(), path, text()));
  }
  Shape shape = reader.info(path).shape;
  bool same = shape.size() == wanted.size();
  for (std::size_t i = 0; same && i < shape.size(); ++i) {
    same = wanted[i] == -1 || wanted[i] == shape[i];
  }
  if (!same) {
    throw DataError(fmt::format("{}: {}: wanted shape {}, got {}", reader.name(), path, text(),
                                shape_text(shape)));
  }
  return shape;
}

template <class T>
std::vector<T> read_curve(const Hdf5Reader& reader, const std::string& name, Index count) {
  if (count == 0) return {};
  const std::string path = "/training/" + name;
  require_dataset(reader, path, {count});
  return reader.read<T>(path).values;
}

// The updates or steps that curves are over; none where the dataset is not there.
std::vector<Index> read_steps(const Hdf5Reader& reader, const std::string& name, Index most) {
  const std::string path = "/training/" + name;
  if (!reader.has_dataset(path)) return {};
  require_dataset(reader, path, {-1});
  std::vector<Index> steps = reader.read<Index>(path).values;
  Index before = -1;
  for (const Index step : steps) {
    if (step <= before || step > most) {
      throw DataError(fmt::format("{}: {}: wanted rising numbers up to the step {}, got {}",
                                  reader.name(), path, most, step));
    }
    before = step;
  }
  return steps;
}

void require_numbers(const Hdf5Reader& reader, const std::string& name,
                     const std::vector<double>& values) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto at = std::find_if_not(values.begin(), values.end(), finite);
  if (at == values.end()) return;
  throw DataError(fmt::format("{}: /training/{}: wanted finite numbers, element {} is {}",
                              reader.name(), name, at - values.begin(), *at));
}

std::vector<EvaluationPoint> read_evaluations(const Hdf5Reader& reader, Index step) {
  const std::vector<Index> steps = read_steps(reader, "evaluation_steps", step);
  std::vector<EvaluationPoint> points(steps.size());
  const auto count = static_cast<Index>(steps.size());
  const auto losses = read_curve<double>(reader, "evaluation_losses", count);
  require_numbers(reader, "evaluation_losses", losses);
  const auto accuracies = read_curve<double>(reader, "evaluation_accuracies", count);
  const auto optional = [&](const std::string& name) {
    return reader.has_dataset("/training/" + name) ? read_curve<double>(reader, name, count)
                                                   : std::vector<double>();
  };
  const auto exact = optional("evaluation_exact_shares");  // not in files of earlier versions
  const auto samples = optional("evaluation_sample_losses");
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].step = steps[i];
    points[i].loss = losses[i];
    points[i].accuracy = accuracies[i];
    if (!exact.empty()) points[i].exact = exact[i];
    if (!samples.empty() && !std::isnan(samples[i])) points[i].sample_loss = samples[i];
  }
  return points;
}

GradientLog read_gradient_log(const Hdf5Reader& reader, Index step, Index parameters) {
  GradientLog log;
  log.updates = read_steps(reader, "gradient_updates", step);
  if (log.updates.empty()) return log;
  const std::string path = "/training/gradient_norms";
  require_dataset(reader, path, {static_cast<Index>(log.updates.size()), parameters});
  log.norms = reader.read<double>(path).values;
  return log;
}

SettingList read_settings(const Hdf5Reader& reader) {
  SettingList settings;
  for (const std::string& name : reader.attributes("/training")) {
    if (name == kStep || name == kBestStep || name == kBestLoss) continue;
    switch (reader.attribute_kind("/training", name).value_or(AttributeKind::kOther)) {
      case AttributeKind::kInteger:
        settings.emplace_back(name, *reader.int_attribute("/training", name));
        break;
      case AttributeKind::kReal:
        settings.emplace_back(name, *reader.real_attribute("/training", name));
        break;
      case AttributeKind::kText:
        settings.emplace_back(name, *reader.text_attribute("/training", name));
        break;
      case AttributeKind::kOther:
        break;  // none of ours
    }
  }
  return settings;
}

std::vector<float> read_moment(const Hdf5Reader& reader, const std::string& group,
                               const ParamStore<float>& params, float least) {
  const auto fits = [&](float x) { return std::isfinite(x) && x >= least; };
  std::vector<float> moment(static_cast<std::size_t>(params.size()));
  for (const ParamInfo& info : params.list()) {
    const std::string path = group + "/" + info.name;
    require_dataset(reader, path, info.shape);
    float* first = moment.data() + info.place.offset;
    reader.read_rows<float>(path, 0, info.shape.front(), first);
    if (!std::all_of(first, first + info.place.size(), fits)) {
      throw DataError(fmt::format("{}: {}: wanted finite numbers{}", reader.name(), path,
                                  least < 0 ? "" : " of at least 0"));
    }
  }
  return moment;
}

}  // namespace

void write_flat(Hdf5Writer& writer, const std::string& group, const ParamStore<float>& params,
                const float* buffer) {
  writer.group(group);
  for (const ParamInfo& info : params.list()) {
    writer.dataset(group + "/" + info.name, info.shape, buffer + info.place.offset);
  }
}

void write_training(Hdf5Writer& writer, const TrainingState<float>& state,
                    const ParamStore<float>& params) {
  writer.group("/training");
  writer.attribute("/training", kStep, state.step);
  write_settings(writer, state.settings);
  write_losses(writer, state.losses);
  write_evaluations(writer, state.evaluations);
  write_gradient_log(writer, state.gradient_log, params.list());
  if (state.m.empty()) return;
  write_flat(writer, "/optimizer/m", params, state.m.data());
  write_flat(writer, "/optimizer/v", params, state.v.data());
}

std::optional<TrainingState<float>> read_training(const Hdf5Reader& reader,
                                                  const ParamStore<float>& params) {
  if (!reader.has_group("/training")) return std::nullopt;
  TrainingState<float> state;
  const auto step = reader.int_attribute("/training", kStep);
  if (!step || *step < 0) {
    throw DataError(fmt::format("{}: /training: wanted an attribute step of at least 0, {}",
                                reader.name(),
                                step ? fmt::format("got {}", *step) : std::string("found none")));
  }
  state.step = *step;
  state.losses = read_curve<double>(reader, "losses", state.step);
  require_numbers(reader, "losses", state.losses);
  state.evaluations = read_evaluations(reader, state.step);
  state.gradient_log =
      read_gradient_log(reader, state.step, static_cast<Index>(params.list().size()));
  state.settings = read_settings(reader);
  if (reader.has_group("/optimizer")) {
    constexpr float kAny = std::numeric_limits<float>::lowest();
    state.m = read_moment(reader, "/optimizer/m", params, kAny);
    state.v = read_moment(reader, "/optimizer/v", params, 0);  // a mean of squares
  }
  return state;
}

}  // namespace attn
