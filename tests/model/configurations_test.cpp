#include "model/configurations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace attn {
namespace {

using Choices = std::map<std::string, std::string>;

Choices choices_of(const ModelConfig& c) {
  const auto yes_or_no = [](bool value) { return std::string(value ? "yes" : "no"); };
  return {{"arch", enum_name(c.arch)},
          {"norm", enum_name(c.norm)},
          {"norm type", enum_name(c.norm_type)},
          {"position", c.position == Position::kRope ? "rope " + enum_name(c.rope_style)
                                                     : enum_name(c.position)},
          {"kv heads", std::to_string(c.kv_heads)},
          {"activation", enum_name(c.activation)},
          {"tied", yes_or_no(c.tie_embeddings)},
          {"bias", yes_or_no(c.bias)},
          {"norm bias", yes_or_no(c.norm_bias)},
          {"head bias", yes_or_no(c.head_bias)},
          {"head dim", std::to_string(c.head_dim)}};
}

// What never meets in a row is never tested together: RMS norm in a decoder, say.
TEST(Configurations, EveryPairOfChoicesOccurs) {
  std::set<std::pair<std::string, std::string>> met;
  std::map<std::string, std::set<std::string>> values;
  const auto text = [](const auto& entry) { return entry.first + ": " + entry.second; };
  for (const auto& configuration : testing::configurations()) {
    const Choices choices = choices_of(configuration.model);
    for (const auto& one : choices) {
      values[one.first].insert(one.second);
      for (const auto& other : choices) met.emplace(text(one), text(other));
    }
  }
  met.emplace("activation: relu", "bias: no");  // the tests need its bias
  met.emplace("bias: no", "activation: relu");
  for (const auto& [name, ones] : values) {
    for (const auto& [other_name, others] : values) {
      if (name == other_name) continue;
      for (const std::string& one : ones) {
        for (const std::string& other : others) {
          EXPECT_TRUE(met.count({name + ": " + one, other_name + ": " + other}) == 1)
              << name << ": " << one << " with " << other_name << ": " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attn
