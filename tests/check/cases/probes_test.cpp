#include "check/cases/probes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "check/cases/case_file.h"
#include "check/cases/probe_file.h"
#include "check/check_attention.h"
#include "check/reference/reference_attention.h"
#include "core/error.h"

namespace attn {
namespace {

const KernelProbe& probe_named(const std::vector<KernelProbe>& probes, const std::string& name) {
  for (const KernelProbe& probe : probes) {
    if (probe.name == name) return probe;
  }
  throw std::runtime_error("no probe " + name);
}

TEST(Probes, TheIdentitysOutputIsTheWeights) {
  ProbeSettings settings;
  settings.rules.causal = true;
  settings.head_dim = 8;
  const std::vector<KernelProbe> probes = make_probes(settings);
  const AttentionProblem& problem = probe_named(probes, "identity").asked.problem;
  const AttentionAnswer answer = reference_attention(problem, true, 1);
  ASSERT_EQ(answer.out.shape, answer.weights.shape);
  for (std::size_t n = 0; n < answer.out.values.size(); ++n) {
    EXPECT_NEAR(answer.out.values[n], answer.weights.values[n], 1e-15);
  }
}

TEST(Probes, MarksComeBackAsTheyAre) {
  const std::vector<KernelProbe> probes = make_probes({});
  const AttentionProblem& problem = probe_named(probes, "marks").asked.problem;
  const AttentionAnswer answer = reference_attention(problem, false, 1);
  // Every row of a head is its number, with the feature's in the fraction.
  EXPECT_NEAR(answer.out.values.front(), 1, 1e-12);
  EXPECT_NEAR(answer.out.values.back(), 8 + 15.0 / 64, 1e-12);
}

TEST(Probes, TheUsualLengthsAreThere) {
  std::set<Index> keys;
  bool fewer = false;
  bool more = false;
  for (const KernelProbe& probe : make_probes({})) {
    const AttentionProblem& problem = probe.asked.problem;
    keys.insert(problem.kv_len());
    fewer = fewer || problem.q_len() < problem.kv_len();
    more = more || problem.q_len() > problem.kv_len();
  }
  EXPECT_TRUE(keys.count(1) && keys.count(64) && keys.count(65) && keys.count(129));
  EXPECT_TRUE(fewer && more);
}

// Each file, read back with an honest output beside it, passes in every layout and type.
TEST(Probes, AnHonestOutputPasses) {
  for (const char* layout : {"bhsd", "bshd", "nbd", "bnd"}) {
    ProbeSettings settings;
    settings.rules.layout = parse_layout(layout);
    settings.rules.dtype = std::string(layout) == "bshd" ? DType::kF16 : DType::kF32;
    settings.rules.causal = true;
    settings.rules.kv_heads = 2;
    settings.inputs = {ProbeInput::kMask,  ProbeInput::kAdditiveMask, ProbeInput::kKvLens,
                       ProbeInput::kSinks, ProbeInput::kAlibiSlopes,  ProbeInput::kPages};
    for (const KernelProbe& probe : make_probes(settings)) {
      TensorSet set = probe_file(probe, settings);
      const AttentionAnswer answer = reference_attention(probe.asked.problem, false, 1);
      set.put("out", from_bhsd(answer.out, *settings.rules.layout), *settings.rules.dtype);
      const TensorFile file = TensorFile::from_bytes(set.npz(), probe.name);
      const AttentionCase recorded = read_case(file, read_case_attributes(file), {});
      EXPECT_TRUE(recorded.assumed.empty()) << recorded.assumed.front();
      const AttentionReport report = check_attention(recorded, {});
      EXPECT_EQ(report.verdict.outcome(), Outcome::kPass) << layout << " " << probe.name;
    }
  }
}

TEST(Probes, HeadsThatDoNotDivideAreRefused) {
  ProbeSettings settings;
  settings.rules.kv_heads = 3;
  EXPECT_THROW(make_probes(settings), UsageError);
}

TEST(Probes, RefuseMoreNumbersThanATensorShouldHold) {
  ProbeSettings settings;
  settings.head_dim = Index{1} << 31;
  EXPECT_THROW(make_probes(settings), UsageError);
  settings.head_dim = 16;
  settings.rules.heads = Index{1} << 31;
  EXPECT_THROW(make_probes(settings), UsageError);
}

}  // namespace
}  // namespace attn
