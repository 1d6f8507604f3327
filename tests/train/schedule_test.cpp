#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/reference.h"
#include "support/truth.h"

namespace attn {
namespace {

Schedule ten(ScheduleKind kind) {
  return {.kind = kind, .lr = 1.0, .min_lr = 0.25, .warmup = 2, .steps = 10};
}

TEST(Schedule, WarmsUpToTheWholeRate) {
  for (const auto kind : {ScheduleKind::kConstant, ScheduleKind::kLinear, ScheduleKind::kCosine,
                          ScheduleKind::kInverseSqrt}) {
    EXPECT_EQ(ten(kind).rate(0), 0.5) << enum_name(kind);
    EXPECT_EQ(ten(kind).rate(1), 1.0) << enum_name(kind);
  }
}

// Eight updates from the first after the warm-up, number 2, to the end.
TEST(Schedule, GoesDownAsItsNameSays) {
  EXPECT_EQ(ten(ScheduleKind::kConstant).rate(1000), 1.0);

  const Schedule linear = ten(ScheduleKind::kLinear);
  EXPECT_DOUBLE_EQ(linear.rate(2), 1.0);
  EXPECT_DOUBLE_EQ(linear.rate(6), 0.25 + 0.75 / 2);
  EXPECT_DOUBLE_EQ(linear.rate(9), 0.25 + 0.75 / 8);
  EXPECT_EQ(linear.rate(10), 0.25);
  EXPECT_EQ(linear.rate(500), 0.25);

  const Schedule cosine = ten(ScheduleKind::kCosine);
  EXPECT_DOUBLE_EQ(cosine.rate(2), 1.0);
  EXPECT_DOUBLE_EQ(cosine.rate(4), 0.25 + 0.75 * (1 + std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(cosine.rate(6), 0.625);
  EXPECT_DOUBLE_EQ(cosine.rate(10), 0.25);
  EXPECT_DOUBLE_EQ(cosine.rate(500), 0.25);

  const Schedule root = ten(ScheduleKind::kInverseSqrt);
  EXPECT_DOUBLE_EQ(root.rate(7), 0.5);    // sqrt(2 / 8)
  EXPECT_DOUBLE_EQ(root.rate(31), 0.25);  // sqrt(2 / 32)
  EXPECT_EQ(root.rate(100), 0.25);        // the floor
}

TEST(Schedule, AWarmUpAsLongAsTheRunDividesByNothing) {
  for (const auto kind : {ScheduleKind::kLinear, ScheduleKind::kCosine}) {
    for (const Index steps : {0, 2, 4}) {
      Schedule schedule = ten(kind);
      schedule.warmup = 4;
      schedule.steps = steps;
      EXPECT_EQ(schedule.rate(3), 1.0);
      EXPECT_EQ(schedule.rate(4), 1.0);
      EXPECT_DOUBLE_EQ(schedule.rate(5), 0.25);
    }
  }
  EXPECT_EQ((Schedule{.kind = ScheduleKind::kInverseSqrt, .lr = 1.0}.rate(3)), 0.5);
}

TEST(Schedule, HasNames) {
  EXPECT_EQ(parse_enum<ScheduleKind>("warmup_cosine"), ScheduleKind::kCosine);
  EXPECT_EQ(parse_enum<ScheduleKind>("inverse-sqrt"), ScheduleKind::kInverseSqrt);
  EXPECT_EQ(parse_enum<ScheduleKind>("wsd"), std::nullopt);
  for (const std::string& name : enum_names<ScheduleKind>()) {
    EXPECT_EQ(enum_name(*parse_enum<ScheduleKind>(name)), name);
  }
}

// Every group of a file that says how its rates were made.
TEST(ReferenceSchedule, EveryRateOfEverySetting) {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const testing::Reference file(path);
    const auto tolerance = file.reader().real_attribute("/expected", "tolerance_rel");
    std::vector<std::string> groups;
    if (tolerance) {
      for (const std::string& name : file.reader().children("/expected")) {
        const std::string group = "/expected/" + name;
        if (file.has(group + "/learning_rates")) groups.push_back(group);
      }
    }
    if (groups.empty()) {
      count.skip(path, "no learning rates with their settings");
      continue;
    }
    count.hold();
    for (const std::string& group : groups) {
      SCOPED_TRACE(group);
      const auto kind = parse_enum<ScheduleKind>(file.text("schedule", group));
      ASSERT_TRUE(kind.has_value()) << file.text("schedule", group);
      Schedule schedule;
      schedule.kind = *kind;
      schedule.lr = file.real("lr", group);
      schedule.min_lr = file.real("min_lr", group);
      // The reference's constant rate has no warm-up.
      if (*kind != ScheduleKind::kConstant) schedule.warmup = file.count("warmup_steps", group);
      schedule.steps = file.count("total_steps", group);
      const auto rates = file.reader().read<double>(group + "/learning_rates").values;
      for (std::size_t t = 0; t < rates.size(); ++t) {
        ASSERT_NEAR(schedule.rate(static_cast<Index>(t)), rates[t],
                    *tolerance * std::abs(rates[t]) + 1e-15)
            << "update " << t;
      }
    }
  }
}

}  // namespace
}  // namespace attn
