#include "kvcache-size/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "cli/table.h"
#include "core/ceil_div.h"
#include "core/counted.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Table;

std::string type_text(const CacheType& type) {
  if (type.latent_only) return "(fp8_ds_mla: 656 bytes for 576, 584 for 512)";
  if (type.block_values == 1) return counted(type.block_bytes, "byte");
  return fmt::format("{} bytes for {}", type.block_bytes, type.block_values);
}

std::string numbers_text(const CacheRows& rows, Index heads) {
  switch (rows.form) {
    case CacheRows::Form::kLatent:
      return fmt::format("{} numbers", rows.key_dim);
    case CacheRows::Form::kIndexer:
      return fmt::format("({} + {} of scales) bytes", rows.key_dim,
                         ceil_div(rows.key_dim, 128) * 4);
    case CacheRows::Form::kHeads:
      break;
  }
  return fmt::format("{} kv heads x ({} + {})", heads, rows.key_dim, rows.value_dim);
}

// 0-31, 0-40+2, or 0,1,5: as the lists of the options are written; long ones end in dots.
std::string layer_numbers(const std::vector<Index>& layers) {
  constexpr std::size_t kMostListed = 8;
  const Index first = layers.front();
  if (layers.size() == 1) return fmt::format("{}", first);
  const Index step = layers[1] - first;
  bool even = layers.size() > 2 || step == 1;
  for (std::size_t i = 2; i < layers.size(); ++i) even = even && layers[i] - layers[i - 1] == step;
  if (even) {
    return step == 1 ? fmt::format("{}-{}", first, layers.back())
                     : fmt::format("{}-{}+{}", first, layers.back(), step);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(layers.size(), kMostListed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", layers[i]);
  }
  return layers.size() > kMostListed ? text + fmt::format("...{}", layers.back()) : text;
}

// The layers that are the same, whatever their order.
std::vector<std::vector<Index>> same_layers(const CacheSpec& spec, const CacheSpec& merged) {
  std::vector<std::vector<Index>> same(merged.layers.size());
  Index next = 0;
  for (const LayerRun& run : spec.layers) {
    for (std::size_t kind = 0; kind < merged.layers.size(); ++kind) {
      if (!(merged.layers[kind].layer == run.layer)) continue;
      for (Index i = 0; i < run.count; ++i) same[kind].push_back(next + i);
    }
    next += run.count;
  }
  return same;
}

}  // namespace

std::string arithmetic(const CacheSpec& spec, const CacheQuestion& question) {
  std::string text;
  const CacheSpec merged = merged_layers(spec);
  for (const LayerRun& run : merged.layers) {
    for (const CacheRows& rows : run.layer.rows) {
      const bool heads = rows.form == CacheRows::Form::kHeads;
      const Index held =
          heads ? heads_per_rank(rows.kv_heads, question.tensor_parallel) * question.tensor_parallel
                : rows.kv_heads;
      LayerCache alone{.kind = run.layer.kind, .rows = {rows}};
      const KvBytes bytes = layer_bytes(spec, alone, question);
      const Index all = held_entries(spec, rows, question);
      std::string line =
          fmt::format("{} {} x {} rows x {}", run.count, run.count == 1 ? "layer" : "layers",
                      grouped(all), numbers_text(rows, held));
      if (!heads && question.tensor_parallel > 1) {
        line += fmt::format(" x {} ranks", question.tensor_parallel);
      }
      if (rows.form != CacheRows::Form::kIndexer) {
        line += fmt::format(" x {}", type_text(question.key_type));
        if (question.value_type.name != question.key_type.name && rows.value_dim > 0) {
          line += fmt::format(" (values {})", type_text(question.value_type));
        }
      }
      text += fmt::format("  {} = {} bytes\n", line, grouped(bytes.total * run.count));
    }
  }
  return text;
}

std::string facts_text(const CacheSpec& spec, bool all) {
  std::string text;
  for (const SpecFact& fact : spec.facts) {
    const bool unsaid = fact.from.find("default") != std::string::npos ||
                        fact.from.find("guess") != std::string::npos ||
                        fact.from.find("--assume") != std::string::npos ||
                        fact.from.find("inside") != std::string::npos ||
                        fact.from.find("rule of") != std::string::npos;
    if (!all && !unsaid) continue;
    if (fact.what == "the family") {
      text += fmt::format("  the family, from: {}\n", fact.from);
    } else {
      text += fmt::format("  {} {}, from: {}\n", fact.what, fact.value, fact.from);
    }
  }
  return text;
}

std::string explained(const CacheSpec& spec, const CacheQuestion& question) {
  std::string text = "Arithmetic\n" + arithmetic(spec, question);
  const CacheSpec merged = merged_layers(spec);
  const auto same = same_layers(spec, merged);
  Table table({{"layers", Table::Align::kLeft},
               {"of"},
               {"keeps", Table::Align::kLeft},
               {"rows"},
               {"keys"},
               {"values"},
               {"a layer"},
               {"state"}});
  for (std::size_t kind = 0; kind < merged.layers.size(); ++kind) {
    const LayerRun& run = merged.layers[kind];
    const KvBytes bytes = layer_bytes(spec, run.layer, question);
    std::string keeps;
    std::string entries;
    for (const CacheRows& rows : run.layer.rows) {
      keeps += fmt::format("{}{}", keeps.empty() ? "" : " and ", rows_text(rows));
      entries += fmt::format("{}{}", entries.empty() ? "" : " + ",
                             grouped(held_entries(spec, rows, question)));
    }
    if (!run.layer.state.empty()) {
      keeps += fmt::format("{}{} state", keeps.empty() ? "" : " and ", run.layer.state.kind);
    }
    if (keeps.empty()) keeps = fmt::format("nothing ({})", run.layer.kind);
    table.add({layer_numbers(same[kind]), fmt::format("{}", run.count), keeps,
               entries.empty() ? "0" : entries, grouped(bytes.keys), grouped(bytes.values),
               grouped(bytes.total), grouped(bytes.state)});
  }
  text += "\nLayers (bytes of one, all sequences)\n" + table.text();
  const std::string facts = facts_text(spec, true);
  if (!facts.empty()) text += "\nWhere the numbers came from\n" + facts;
  return text;
}

}  // namespace attn
