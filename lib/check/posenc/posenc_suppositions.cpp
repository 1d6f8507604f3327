#include "check/posenc/posenc_suppositions.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace attn {

std::vector<NamedRounding> phase_roundings() {
  std::vector<NamedRounding> all;
  const std::initializer_list<std::pair<Rounding, const char*>> types = {
      {Rounding::kBf16, "bf16"}, {Rounding::kF16, "f16"}, {Rounding::kBf16Cut, "bf16, cut off"}};
  for (const auto& [type, word] : types) {
    // Fewer rounded places first: each bit is one.
    for (const int places :
         {4, 2, 8, 6, 12, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15, 20, 18, 24, 22, 28, 26, 30, 31, 16}) {
      PhaseRounding r;
      r.to = type;
      std::string what;
      const auto place = [&](int bit, bool& field, const char* name) {
        field = (places & bit) != 0;
        if (field) what += (what.empty() ? "" : ", ") + std::string(name);
      };
      place(1, r.exponents, "exponents");
      place(2, r.frequencies, "frequencies");
      place(4, r.positions, "positions");
      place(8, r.phases, "phases");
      place(16, r.results, "results");
      all.push_back({fmt::format("{} in {}", what, word), r});
    }
  }
  return all;
}

std::string shift_text(double by) {
  return fmt::format("positions are {} too {}", std::abs(by), by > 0 ? "large" : "small");
}

namespace {

NamedPositions shifted(const std::vector<double>& right, double by) {
  NamedPositions made{shift_text(by), right};
  for (double& p : made.positions) p += by;
  return made;
}

}  // namespace

std::vector<NamedPositions> other_positions(const std::vector<double>& right) {
  std::vector<NamedPositions> all;
  constexpr int kNear = 8;
  for (int by = 1; by <= kNear; ++by) {
    all.push_back(shifted(right, by));
    all.push_back(shifted(right, -by));
  }
  if (right.empty()) return all;
  const double count = static_cast<double>(right.size());
  for (const double by : {-right.front(), right.front(), right.back() + 1, right.back(), count}) {
    if (by != 0) all.push_back(shifted(right, by));
  }
  for (const double from : {0.0, 1.0}) {
    NamedPositions counted{fmt::format("positions are counted from {}", from), right};
    for (std::size_t r = 0; r < right.size(); ++r) {
      counted.positions[r] = from + static_cast<double>(r);
    }
    all.push_back(std::move(counted));
  }
  for (const double place : {0.0, right.front(), right.back()}) {
    all.push_back({fmt::format("every row is at position {}", place),
                   std::vector<double>(right.size(), place)});
  }
  NamedPositions backwards{"positions run backwards", right};
  std::reverse(backwards.positions.begin(), backwards.positions.end());
  all.push_back(std::move(backwards));
  return all;
}

std::vector<double> far_shifts() {
  std::vector<double> all;
  constexpr int kFar = 4096;
  for (int by = 9; by <= kFar; ++by) {
    all.push_back(by);
    all.push_back(-by);
  }
  return all;
}

std::vector<NamedExponent> other_exponents() {
  return {
      {"i/d for 2i/d", [](double i, double d) { return i / d; }},
      {"4i/d for 2i/d", [](double i, double d) { return 4 * i / d; }},
      {"2(i+1)/d for 2i/d", [](double i, double d) { return 2 * (i + 1) / d; }},
      {"(2i+1)/d for 2i/d", [](double i, double d) { return (2 * i + 1) / d; }},
      {"i/(d/2 - 1) for 2i/d", [](double i, double d) { return d > 2 ? i / (d / 2 - 1) : 0.0; }},
      {"2i/(d - 1) for 2i/d", [](double i, double d) { return 2 * i / (d - 1); }},
      {"i/(d - 1) for 2i/d", [](double i, double d) { return i / (d - 1); }},
      {"2i/(d + 1) for 2i/d", [](double i, double d) { return 2 * i / (d + 1); }},
      {"i/(d/2 + 1) for 2i/d", [](double i, double d) { return i / (d / 2 + 1); }},
      {"2i/d counted backwards",
       [](double i, double d) { return 2 * (std::ceil(d / 2) - 1 - i) / d; }},
      {"-2i/d for 2i/d: frequencies rise", [](double i, double d) { return -2 * i / d; }}};
}

}  // namespace attn
