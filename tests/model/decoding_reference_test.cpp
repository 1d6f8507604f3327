#include <fmt/core.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/decoding.h"
#include "support/reference.h"
#include "support/truth.h"

// Greedy continuations with and without EOS against PyTorch in float64: tokens, lengths and
// log-probabilities, with the cache and without.

namespace attn {
namespace {

using testing::Reference;

// The groups that hold greedy results: /expected itself or those in it with tokens, lengths and
// log_probs side by side and the EOS they were made with. (A beam's are not: they have scores.)
std::vector<std::string> greedy_groups(const Reference& file) {
  std::vector<std::string> groups;
  const auto consider = [&](const std::string& group) {
    if (file.has(group + "/tokens") && file.has(group + "/lengths") &&
        file.has(group + "/log_probs") && file.reader().int_attribute(group, "eos_id") &&
        file.reader().info(group + "/tokens").shape.size() == 2) {
      groups.push_back(group);
    }
  };
  if (!file.has("/expected")) return groups;
  consider("/expected");
  for (const std::string& name : file.reader().children("/expected")) {
    const std::string group = "/expected/" + name;
    if (file.reader().has_group(group)) consider(group);
  }
  return groups;
}

std::string other_kind(const Reference& file) {
  const auto arch = parse_enum<Arch>(file.text("arch"));
  if (!arch || *arch == Arch::kEncoder) return "arch '" + file.text("arch") + "'";
  if (*arch == Arch::kEncoderDecoder && !file.has("/input/source")) return "no /input/source";
  if (*arch == Arch::kDecoder && !file.has("/input/prompts")) return "no /input/prompts";
  return greedy_groups(file).empty() ? "no greedy tokens" : "";
}

// Row by row: what each continuation begins with. A prompt shorter than the others ends with -1.
class Inputs {
 public:
  explicit Inputs(const Reference& file) {
    if (file.has("/input/prompts")) prompts_ = file.reader().read<Index>("/input/prompts");
    if (file.has("/input/source")) source_ = file.reader().read<Index>("/input/source");
    if (file.has("/input/source_mask")) {
      mask_ = file.reader().read<std::uint8_t>("/input/source_mask");
    }
  }
  std::vector<Index> prompt(Index row) const {
    if (prompts_.shape.empty()) return {0};  // the reference's BOS
    std::vector<Index> ids = row_of(prompts_, row);
    while (!ids.empty() && ids.back() < 0) ids.pop_back();
    return ids;
  }
  Generation generate_row(const Transformer<float>& model, Index row,
                          const GenerationSettings& settings) const {
    const std::vector<Index> begin = prompt(row);
    if (source_.shape.empty()) return generate<float>(model, begin, settings);
    const std::vector<Index> source = row_of(source_, row);
    std::vector<std::uint8_t> mask;
    if (!mask_.shape.empty()) mask = row_of(mask_, row);
    return generate<float>(model, SourceTokens{source, mask}, begin, settings);
  }

 private:
  template <class T>
  static std::vector<T> row_of(const Tensor<T>& rows, Index row) {
    const Index width = rows.dim(1);
    return {rows.values.begin() + row * width, rows.values.begin() + (row + 1) * width};
  }
  Tensor<Index> prompts_, source_;
  Tensor<std::uint8_t> mask_;
};

// One group; the least lead of all its choices.
double hold(const Reference& file, const std::string& group, const Transformer<float>& model,
            bool use_cache) {
  const auto tokens = file.reader().read<Index>(group + "/tokens");
  const auto lengths = file.ids(group + "/lengths");
  const Index most = tokens.dim(1);
  const Index eos = file.count("eos_id", group);
  const Inputs inputs(file);
  GenerationSettings settings;
  settings.new_tokens = most;
  settings.use_cache = use_cache;
  if (eos >= 0) settings.eos = eos;
  std::vector<double> log_probs;
  double least = std::numeric_limits<double>::infinity();
  for (Index row = 0; row < tokens.dim(0); ++row) {
    const Generation found = inputs.generate_row(model, row, settings);
    least = std::min(least, found.smallest_lead);
    const auto length = static_cast<Index>(found.tokens.size());
    EXPECT_EQ(length, lengths[static_cast<std::size_t>(row)]) << group << " row " << row;
    EXPECT_EQ(found.finish == Finish::kEos, length > 0 && found.tokens.back() == eos);
    for (Index i = 0; i < most; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(i < length ? found.tokens[at] : -1, tokens.matrix()(row, i))
          << group << " row " << row << " token " << i;
      log_probs.push_back(i < length ? found.log_probs[at] : 0.0);
    }
  }
  // Made in float, whose tolerance the file states.
  const std::vector<float> narrow(log_probs.begin(), log_probs.end());
  file.expect_near(group + "/log_probs", narrow);
  return least;
}

TEST(ReferenceDecoding, GreedyTokensLengthsAndLogProbabilities) {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    const std::string why = other_kind(file);
    if (!why.empty()) {
      count.skip(path, why);
      continue;
    }
    count.hold();
    const auto model = read_model<float>(file.reader());
    for (const bool use_cache : {true, false}) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::string& group : greedy_groups(file)) {
        least = std::min(least, hold(file, group, *model, use_cache));
      }
      const auto lead = file.reader().real_attribute("/expected", "smallest_lead");
      // A gap of two float logits of size 10 or less, each off by some units of 1e-6.
      if (lead) {
        EXPECT_NEAR(least, *lead, 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace attn
