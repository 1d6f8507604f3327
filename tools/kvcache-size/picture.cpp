#include "kvcache-size/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/picture.h"
#include "core/counted.h"
#include "core/text.h"
#include "kvcache-size/json.h"

namespace attn {
namespace {

// What a row's size depends on but for its tokens, in words.
std::vector<std::string> settings_of(const SizeGrid& grid, const SizeRow& row) {
  const CacheSpec& spec = shape_of(grid, row);
  std::vector<std::string> words = {fmt::format("batch {}", row.batch), types_of(grid, row).name()};
  if (grid.encoder_tokens.size() > 1) words.push_back("encoder " + grouped(row.encoder_tokens));
  if (!spec.model.empty()) {
    words.push_back(spec.model);
  } else {
    words.push_back(counted(spec.caching_layers(), "layer"));
    // Layers may differ in these.
    const std::optional<Index> heads = common(spec, &CacheRows::kv_heads);
    const std::optional<Index> width = common(spec, &CacheRows::key_dim);
    words.push_back(heads ? counted(*heads, "kv head") : "- kv heads");
    words.push_back(width ? fmt::format("heads of {}", *width) : "heads of -");
  }
  return words;
}

// Which of those words tell a row from the others: where some row's differs from the first one's.
// All of them where nothing differs.
std::vector<bool> telling(const std::vector<std::vector<std::string>>& rows) {
  std::vector<bool> differs;
  for (const std::vector<std::string>& words : rows) {
    differs.resize(std::max(differs.size(), words.size()));
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i >= rows[0].size() || words[i] != rows[0][i]) differs[i] = true;
    }
  }
  if (std::find(differs.begin(), differs.end(), true) == differs.end()) differs.flip();
  return differs;
}

std::string kept_of(const std::vector<std::string>& words, const std::vector<bool>& kept) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (kept[i]) text += (text.empty() ? "" : ", ") + words[i];
  }
  return text;
}

}  // namespace

std::string size_picture(const SizeGrid& grid, const cli::Terminal& terminal) {
  constexpr std::size_t kMostCurves = 5;
  cli::Chart chart{.title = "bytes of the cache against tokens, both logarithmic",
                   .x_is = "tokens",
                   .y_is = "bytes",
                   .log_x = true,
                   .log_y = true,
                   .powers_of_two = true,
                   .x_tick = cli::binary_tick,
                   .y_tick = cli::bytes_tick};
  std::vector<std::vector<std::string>> settings;
  for (Index i = 0; i < grid.size(); ++i) settings.push_back(settings_of(grid, grid.row(i)));
  const std::vector<bool> kept = telling(settings);
  for (Index i = 0; i < grid.size(); ++i) {
    const SizeRow row = grid.row(i);
    const std::string label = kept_of(settings[static_cast<std::size_t>(i)], kept);
    auto curve = std::find_if(chart.curves.begin(), chart.curves.end(),
                              [&](const cli::Curve& one) { return one.label == label; });
    if (curve == chart.curves.end()) {
      if (chart.curves.size() == kMostCurves) continue;
      curve = chart.curves.insert(curve, cli::Curve{.label = label});
    }
    curve->x.push_back(static_cast<double>(row.tokens));
    curve->y.push_back(static_cast<double>(row.bytes.total));
  }
  return cli::chart(chart, terminal);
}

}  // namespace attn
