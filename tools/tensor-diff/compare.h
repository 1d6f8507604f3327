#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "io/tensor_diff.h"

namespace attn {

/// What tensor-diff's command line says.
struct DiffOptions {
  std::string first;
  std::string second;
  std::string map;
  DiffSettings settings;
  cli::Format format = cli::Format::kText;
  bool show = false;
  Index max_bytes = cli::kDefaultMaxBytes;
};

/// Two tensors that belong together, or one that has no other.
struct ComparedPair {
  std::string a;  // its path; empty where it is missing
  std::string b;
  std::optional<DatasetInfo> info_a;
  std::optional<DatasetInfo> info_b;
  std::optional<TensorDifference> difference;  // where shapes agree
  std::vector<std::string> relations;          // where they do not, or numbers differ
  bool other_type = false;
  std::optional<DifferenceMap> map;  // of the first whose numbers differ, where it is to be shown

  bool differs() const;
};

/// Opens both and compares them pair by pair. UsageError and DataError for what cannot be read.
std::vector<ComparedPair> compare_files(const DiffOptions& options);

/// The first pair that differs, or nullptr.
const ComparedPair* first_deviation(const std::vector<ComparedPair>& pairs);

}  // namespace attn
