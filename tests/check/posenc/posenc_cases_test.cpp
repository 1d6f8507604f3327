#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "check/posenc/check_posenc.h"
#include "io/hdf5_reader.h"
#include "model/position_tables.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

template <class Task>
void for_each_case(const Task& task) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : attn::testing::case_places("posenc")) {
    std::ifstream file(folder / "manifest.json");
    const nlohmann::json manifest = nlohmann::json::parse(file);
    for (const auto& entry : manifest.at("cases")) {
      task(entry, Hdf5Reader::open((folder / entry.at("file").get<std::string>()).string()));
      count.hold();
    }
  }
}

TEST(PosencCases, GetTheirVerdictAndTheNameOfTheirMistake) {
  for_each_case([](const nlohmann::json& entry, const Hdf5Reader& file) {
    const Verdict verdict = check_posenc(read_posenc_case(file));
    const std::vector<std::string> names = names_of(verdict.diagnosis);
    const bool passes = entry.at("expected") == "pass";
    EXPECT_EQ(verdict.outcome(), passes ? Outcome::kPass : Outcome::kFail) << entry.at("name");
    if (passes) {
      EXPECT_THAT(names, ::testing::IsEmpty()) << entry.at("name");
      return;
    }
    std::vector<std::string> wanted = entry.at("also_acceptable");
    wanted.push_back(entry.at("diagnosis"));
    EXPECT_THAT(names, ::testing::Contains(::testing::AnyOfArray(wanted))) << entry.at("name");
  });
}

constexpr Index kMaxBytes = Index{1} << 30;

// The tables that posenc-dump makes by the same rules.
PositionTables our_tables(const PosencCase& c) {
  const std::vector<Index> positions(c.positions.begin(), c.positions.end());
  switch (c.kind) {
    case PosencKind::kSinusoidal:
      return sinusoidal_tables(positions,
                               {c.sinusoidal.dim,
                                c.sinusoidal.base,
                                {c.sinusoidal.concatenated, c.sinusoidal.tensor2tensor}},
                               kMaxBytes);
    case PosencKind::kRope:
      return rope_tables(positions,
                         {c.rope.head_dim, c.rope.rotary_dim, c.rope.theta, c.rope.pairs,
                          c.rope.scaling, c.rope.seq_len},
                         kMaxBytes);
    case PosencKind::kAlibi: {
      const Tensor<double>& bias = c.part("bias")->values;
      return alibi_tables({c.alibi.heads, bias.dim(1), bias.dim(2)}, kMaxBytes);
    }
    case PosencKind::kT5:
      break;
  }
  PositionTables made{"t5", "", {}, {}};
  made.parts.push_back({"bucket", Tensor<double>(c.relative.shape), {}});
  for (Index n = 0; n < c.relative.size(); ++n) {
    made.parts[0].values.data()[n] =
        static_cast<double>(t5_bucket(static_cast<Index>(c.relative.data()[n]), c.t5.num_buckets,
                                      c.t5.max_distance, c.t5.bidirectional));
  }
  return made;
}

// Both are computed in double, from the same formulas in another order: phases agree to some units
// in the last place, and a sine of a large phase takes over the phase's absolute error.
TEST(PosencCases, OurOwnTablesAreTheTruth) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : attn::testing::case_places("posenc")) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const std::size_t suffix = name.find(".truth.h5");
      if (suffix == std::string::npos) continue;
      const Hdf5Reader truth = Hdf5Reader::open(entry.path().string());
      const PosencCase c =
          read_posenc_case(Hdf5Reader::open((folder / (name.substr(0, suffix) + ".h5")).string()));
      double largest = 1;
      for (const double p : c.positions) largest = std::max(largest, std::abs(p));
      Index compared = 0;
      for (const PositionPart& part : our_tables(c).parts) {
        if (!truth.has_dataset("/" + part.name)) continue;
        const Tensor<double> want = truth.read<double>("/" + part.name);
        ASSERT_EQ(part.values.shape, want.shape) << name << " " << part.name;
        for (Index n = 0; n < want.size(); ++n) {
          ASSERT_NEAR(part.values.data()[n], want.data()[n], 1e-14 * largest)
              << name << " " << part.name << " [" << n << "]";
        }
        ++compared;
      }
      EXPECT_GT(compared, 0) << name;
      count.hold();
    }
  }
}

}  // namespace
}  // namespace attn
