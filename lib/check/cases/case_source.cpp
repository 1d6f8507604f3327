#include "check/cases/case_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/tensor_argument.h"

namespace attn {

std::string dataset_option_name(const std::string& dataset) {
  std::string name = "--";
  for (const char c : dataset) name += c == '_' || c == '/' ? '-' : c;
  return name;
}

CaseSource::CaseSource(const TensorFile& file, const CaseNames& names, const ReadLimits& limits)
    : file_(&file), names_(names), limits_(limits) {}

CaseSource::CaseSource(const CaseNames& arguments, const ReadLimits& limits)
    : names_(arguments), limits_(limits) {}

void CaseSource::complain(const std::string& name, const std::string& what) const {
  if (file_ == nullptr) throw UsageError(dataset_option_name(name) + ": " + what);
  throw DataError(fmt::format("{}: {}: {}", file_->name(), name, what));
}

// A dataset of a group may be named by itself or by the group.
std::string CaseSource::path(const std::string& name) const {
  if (const auto mapped = names_.find(name); mapped != names_.end()) return mapped->second;
  const std::size_t slash = name.find('/');
  if (slash != std::string::npos) {
    const auto group = names_.find(name.substr(0, slash));
    if (group != names_.end()) return group->second + name.substr(slash);
  }
  return "/" + name;
}

bool CaseSource::has(const std::string& name) const {
  if (names_.count(name) != 0) return true;
  return file_ != nullptr && file_->has_dataset(path(name));
}

CaseSource::Found CaseSource::elsewhere(const std::string& name, const std::string& value) const {
  Found found;
  if (const auto place = tensor_place(value)) {
    const TensorFile file = TensorFile::open(place->file, limits_);
    if (place->dataset.empty() && file.has_dataset(name)) {
      found.tensor = file.read<double>(name);  // a case file stands for its tensor of this name
      found.type = file.info(name).type;
      return found;
    }
    if (!place->dataset.empty()) found.type = file.info(place->dataset).type;
  }
  found.tensor = tensor_argument(value, dataset_option_name(name), limits_);
  return found;
}

std::optional<std::string> CaseSource::in_file(const std::string& name) const {
  const std::string at = path(name);
  if (file_ == nullptr || !file_->has_dataset(at)) return std::nullopt;
  return at;
}

std::optional<CaseSource::Found> CaseSource::find(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  const std::string at = path(name);
  if (std::find(left_in_file_.begin(), left_in_file_.end(), name) != left_in_file_.end()) {
    const DatasetInfo info = file_->info(at);
    Found shape_alone;
    shape_alone.tensor.shape = info.shape;
    shape_alone.type = info.type;
    return shape_alone;
  }
  if (file_ == nullptr) return elsewhere(name, at);
  if (file_->has_dataset(at)) return Found{file_->read<double>(at), file_->info(at).type};
  const bool numbers = at.find_first_not_of("0123456789.,;+-einfa \t") == std::string::npos;
  if (tensor_place(at) || numbers || missing_file(at)) return elsewhere(name, at);
  return Found{file_->read<double>(at), DType::kF64};  // which says what the file has instead
}

CaseSource::Found CaseSource::require(const std::string& name) const {
  if (auto found = find(name)) return std::move(*found);
  if (file_ == nullptr) {
    throw UsageError(dataset_option_name(name) +
                     " is needed where tensors are given without "
                     "--input");
  }
  return {file_->read<double>(path(name)), DType::kF64};
}

std::vector<double> CaseSource::numbers(const std::string& name) const {
  auto found = find(name);
  if (!found) return {};
  const Shape& shape = found->tensor.shape;
  if (shape.size() != 1 || shape[0] < 1) {
    complain(name,
             fmt::format("want one axis and at least one number, got shape {}", shape_text(shape)));
  }
  return std::move(found->tensor.values);
}

std::vector<Index> CaseSource::integers(const std::string& name) const {
  constexpr double kMost = 1e15;  // far beyond any length, and exact
  std::vector<Index> whole;
  for (const double value : numbers(name)) {
    if (!(std::abs(value) <= kMost) || value != std::floor(value)) {
      complain(name, fmt::format("want whole numbers, got {}", value));
    }
    whole.push_back(static_cast<Index>(value));
  }
  return whole;
}

}  // namespace attn
