#include "io/tensor_argument.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/tensor_file.h"

namespace attn {
namespace {

constexpr std::string_view kBlanks = " \t,\r";

double number(std::string_view word, const std::string& name) {
  const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw DataError(fmt::format("{}: '{}' is no number", name, escaped(word)));
  }
  return value;
}

std::vector<double> row_of(std::string_view line, const std::string& name) {
  std::vector<double> row;
  std::size_t at = line.find_first_not_of(kBlanks);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    row.push_back(number(line.substr(at, end - at), name));
    at = line.find_first_not_of(kBlanks, end);
  }
  return row;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

// Why a link leads to no file: it is one of a ring, or what it names is not there.
std::optional<std::string> broken_link(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return std::nullopt;
  std::error_code ignored;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
    return std::nullopt;
  if (!error) error = std::make_error_code(std::errc::no_such_file_or_directory);
  return error.message();
}

}  // namespace

Tensor<double> parse_numbers(std::string_view text, const std::string& name) {
  std::vector<double> values;
  Index rows = 0;
  Index columns = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('#')) continue;
    const std::vector<double> row = row_of(line, name);
    if (row.empty()) continue;
    const auto count = static_cast<Index>(row.size());
    if (rows > 0 && count != columns) {
      throw DataError(
          fmt::format("{}: row {} has {} numbers, row 1 has {}", name, rows + 1, count, columns));
    }
    columns = count;
    ++rows;
    values.insert(values.end(), row.begin(), row.end());
  }
  if (rows == 0) throw DataError(name + ": no numbers");
  return rows == 1 ? Tensor<double>({columns}, std::move(values))
                   : Tensor<double>({rows, columns}, std::move(values));
}

std::optional<TensorPlace> tensor_place(const std::string& value) {
  if (is_file(value)) return TensorPlace{value, ""};
  const std::size_t colon = value.find(":/");
  if (colon == std::string::npos || !is_file(value.substr(0, colon))) return std::nullopt;
  return TensorPlace{value.substr(0, colon), value.substr(colon + 1)};
}

std::optional<std::string> missing_file(const std::string& value) {
  if (tensor_place(value)) return std::nullopt;
  const std::size_t colon = value.find(":/");
  if (colon != std::string::npos && colon > 0) return value.substr(0, colon);
  for (const char* ending : {".h5", ".hdf5", ".hdf", ".npz", ".npy", ".tsv", ".csv", ".txt"}) {
    if (std::string_view(value).ends_with(ending)) return value;
  }
  return std::nullopt;
}

Tensor<double> tensor_argument(const std::string& value, const std::string& name,
                               const ReadLimits& limits) {
  if (const auto place = tensor_place(value)) {
    const TensorFile file = TensorFile::open(place->file, limits);
    if (!place->dataset.empty()) return file.read<double>(place->dataset);
    try {
      return file.read<double>(file.only_dataset());
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", name, error.what()),
                      {fmt::format("a dataset is named as {}:/NAME", file.name())});
    }
  }
  if (const auto why = broken_link(value))
    throw DataError(fmt::format("{}: {}: {}", name, escaped(value), *why));
  if (const auto missing = missing_file(value)) {
    std::error_code ignored;
    throw DataError(fmt::format("{}: {}: {}", name, escaped(*missing),
                                std::filesystem::is_directory(*missing, ignored)
                                    ? "is a folder"
                                    : "No such file or directory"));
  }
  try {
    return parse_numbers(value, name);
  } catch (const DataError& error) {
    throw UsageError(error.what(), {"want numbers such as '1 0; 0 1', or the name of a file"});
  }
}

}  // namespace attn
