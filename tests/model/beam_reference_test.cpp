#include <fmt/core.h>
#include <gtest/gtest.h>

#include "model/beam.h"
#include "model/checkpoint.h"
#include "support/reference.h"
#include "support/truth.h"

// Beam search against PyTorch in float64: the pool after every round, results in their order,
// log-probabilities and scores, with the cache and without.

namespace attn {
namespace {

using testing::Reference;

// The groups of /expected that hold the results of one length penalty.
std::vector<std::string> beam_groups(const Reference& file) {
  std::vector<std::string> groups;
  if (!file.has("/expected") || !file.has("/input/prompts")) return groups;
  for (const std::string& name : file.reader().children("/expected")) {
    const std::string group = "/expected/" + name;
    if (file.has(group + "/scores") && file.reader().has_attribute(group, "length_penalty")) {
      groups.push_back(group);
    }
  }
  return groups;
}

void expect_tokens(const std::vector<Index>& found, const Index* wanted, Index most,
                   const std::string& what) {
  for (Index i = 0; i < most; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(at < found.size() ? found[at] : -1, wanted[i]) << what << " token " << i;
  }
}

// All prompts of one group; the least lead among them and those before.
void hold(const Reference& file, const std::string& group, const Transformer<float>& model,
          bool use_cache, double& least) {
  const auto prompts = file.reader().read<Index>("/input/prompts");
  const auto tokens = file.reader().read<Index>(group + "/tokens");  // (prompts, width, most)
  const auto lengths = file.ids(group + "/lengths");
  const auto pools = file.reader().read<Index>(group + "/pool_after_round");
  const auto rounds = file.ids(group + "/rounds");
  const Index width = tokens.dim(1);
  const Index most = tokens.dim(2);
  BeamSettings settings;
  settings.width = width;
  settings.new_tokens = most;
  settings.keep_rounds = true;
  settings.use_cache = use_cache;
  settings.length_penalty = file.real("length_penalty", group);
  const Index eos = file.count("eos_id");
  if (eos >= 0) settings.eos = eos;
  std::vector<float> log_probs, scores;
  for (Index p = 0; p < prompts.dim(0); ++p) {
    const std::string what = fmt::format("{} prompt {}", group, p);
    const std::span<const Index> prompt(prompts.matrix().row(p),
                                        static_cast<std::size_t>(prompts.dim(1)));
    const BeamResult found = search_beams<float>(model, nullptr, prompt, settings);
    least = std::min(least, found.smallest_lead);
    EXPECT_EQ(static_cast<Index>(found.rounds.size()), rounds[static_cast<std::size_t>(p)]) << what;
    for (Index round = 0; round < pools.dim(1); ++round) {
      const auto at = static_cast<std::size_t>(round);
      const std::vector<Hypothesis> none;
      const auto& pool = at < found.rounds.size() ? found.rounds[at] : none;
      for (Index i = 0; i < width; ++i) {
        const auto place = static_cast<std::size_t>(i);
        expect_tokens(place < pool.size() ? pool[place].tokens : std::vector<Index>{},
                      pools.data() + ((p * pools.dim(1) + round) * width + i) * most, most,
                      fmt::format("{} round {} hypothesis {}", what, round, i));
      }
    }
    ASSERT_EQ(static_cast<Index>(found.hypotheses.size()), width) << what;
    for (Index i = 0; i < width; ++i) {
      const Hypothesis& one = found.hypotheses[static_cast<std::size_t>(i)];
      EXPECT_EQ(static_cast<Index>(one.tokens.size()),
                lengths[static_cast<std::size_t>(p * width + i)]);
      expect_tokens(one.tokens, tokens.data() + (p * width + i) * most, most, what);
      log_probs.push_back(static_cast<float>(one.log_prob));
      scores.push_back(static_cast<float>(one.score));
    }
  }
  file.expect_near(group + "/log_probs", log_probs);
  file.expect_near(group + "/scores", scores);
}

TEST(ReferenceBeams, PoolsScoresAndLogProbabilities) {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    const std::vector<std::string> groups = beam_groups(file);
    if (groups.empty()) {
      count.skip(path, "no beams");
      continue;
    }
    count.hold();
    const auto model = read_model<float>(file.reader());
    for (const bool use_cache : {true, false}) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::string& group : groups) {
        hold(file, group, *model, use_cache, least);
      }
      // Scores are sums of a few float log-probabilities, each off by some units of 1e-6.
      const auto lead = file.reader().real_attribute("/expected", "smallest_lead");
      if (lead) {
        EXPECT_NEAR(least, *lead, 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace attn
