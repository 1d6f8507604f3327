#include <gtest/gtest.h>

#include "model/sampling.h"
#include "support/reference.h"
#include "support/truth.h"

// Filtered probabilities against PyTorch in float64: temperature, then top-k, then top-p.

namespace attn {
namespace {

using testing::Reference;

// The groups of /expected that hold probabilities and the settings they were made with.
std::vector<std::string> filter_groups(const Reference& file) {
  std::vector<std::string> groups;
  if (!file.has("/input/logits") || !file.has("/expected")) return groups;
  for (const std::string& name : file.reader().children("/expected")) {
    const std::string group = "/expected/" + name;
    if (file.has(group + "/probabilities") && file.reader().has_attribute(group, "top_p")) {
      groups.push_back(group);
    }
  }
  return groups;
}

void hold(const Reference& file, const std::string& group) {
  const Tensor<float> logits = file.reader().read<float>("/input/logits");
  const std::vector<Index> kept = file.ids(group + "/kept");
  SamplingSettings settings;
  settings.temperature = file.real("temperature", group);
  settings.top_k = file.count("top_k", group);
  settings.top_p = file.real("top_p", group);
  std::vector<double> found(logits.values.size());
  for (Index row = 0; row < logits.dim(0); ++row) {
    const Index vocab = logits.dim(1);
    NextToken next(
        std::span<const float>(logits.matrix().row(row), static_cast<std::size_t>(vocab)), {},
        settings);
    EXPECT_EQ(next.kept(), kept[static_cast<std::size_t>(row)]) << group << " row " << row;
    for (const Candidate& one : next.best(vocab)) {
      found[static_cast<std::size_t>(row * vocab + one.id)] = one.probability;
    }
  }
  // The arithmetic is double: held closer than the float32 for which the file states a tolerance.
  file.expect_near(group + "/probabilities", found);
}

TEST(ReferenceSampling, FilteredProbabilities) {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    const std::vector<std::string> groups = filter_groups(file);
    if (groups.empty()) {
      count.skip(path, "no filtered probabilities");
      continue;
    }
    count.hold();
    for (const std::string& group : groups) hold(file, group);
  }
}

}  // namespace
}  // namespace attn
