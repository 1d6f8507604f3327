#include "kvcache-size/json.h"

#include <fmt/core.h>

#include <utility>

#include "cli/json.h"
#include "core/error.h"
#include "core/text.h"
#include "kvcache-size/explain.h"

namespace attn {

using cli::Json;

const CacheSpec& shape_of(const SizeGrid& grid, const SizeRow& row) {
  return grid.shapes[static_cast<std::size_t>(row.shape)];
}

const TypePair& types_of(const SizeGrid& grid, const SizeRow& row) {
  return grid.types[static_cast<std::size_t>(row.types)];
}

std::optional<Index> common(const CacheSpec& spec, Index CacheRows::*field) {
  std::optional<Index> value;
  for (const LayerRun& run : spec.layers) {
    for (const CacheRows& rows : run.layer.rows) {
      if (rows.form == CacheRows::Form::kIndexer) continue;
      if (value && rows.*field != *value) return std::nullopt;
      value = rows.*field;
    }
  }
  return value;
}

namespace {

Json json_or_null(std::optional<Index> number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_rows(const CacheRows& rows) {
  const char* span = "all";
  switch (rows.span) {
    case CacheRows::Span::kAll:
      break;
    case CacheRows::Span::kWindow:
      span = "window";
      break;
    case CacheRows::Span::kChunk:
      span = "chunk";
      break;
    case CacheRows::Span::kEncoder:
      span = "encoder";
      break;
    case CacheRows::Span::kCompressed:
      span = "compressed";
      break;
  }
  const char* form = rows.form == CacheRows::Form::kHeads    ? "heads"
                     : rows.form == CacheRows::Form::kLatent ? "latent"
                                                             : "indexer";
  return {{"span", span},
          {"limit", rows.limit > 0 ? Json(rows.limit) : Json(nullptr)},
          {"form", form},
          {"kv_heads", rows.kv_heads},
          {"key_dim", rows.key_dim},
          {"value_dim", rows.value_dim}};
}

Json json_model(const CacheSpec& spec) {
  Json layers = Json::array();
  for (const LayerRun& run : spec.layers) {
    Json rows = Json::array();
    for (const CacheRows& one : run.layer.rows) rows.push_back(json_rows(one));
    layers.push_back({{"count", run.count}, {"kind", run.layer.kind}, {"rows", std::move(rows)}});
  }
  Json facts = Json::array();
  for (const SpecFact& fact : spec.facts) {
    facts.push_back({{"what", fact.what}, {"value", fact.value}, {"from", fact.from}});
  }
  return {{"model", spec.model.empty() ? Json(nullptr) : Json(spec.model)},
          {"family", spec.family.empty() ? Json(nullptr) : Json(spec.family)},
          {"layers", std::move(layers)},
          {"facts", std::move(facts)}};
}

}  // namespace

std::string sizes_as_json(const SizeGrid& grid, const SizeOptions& o) {
  constexpr Index kMostInMemory = 1'000'000;
  if (grid.size() > kMostInMemory) {
    throw UsageError(
        fmt::format("{} rows are too many for one JSON document", grouped(grid.size())),
        {"--format tsv or csv writes them one by one"});
  }
  Json results = Json::array();
  for (Index i = 0; i < grid.size(); ++i) {
    const SizeRow row = grid.row(i);
    const CacheSpec& spec = shape_of(grid, row);
    const TypePair& types = types_of(grid, row);
    const KvBytes& bytes = row.bytes;
    Json result = {{"model", spec.model.empty() ? Json(nullptr) : Json(spec.model)},
                   {"layers", spec.caching_layers()},
                   {"kv_heads", json_or_null(common(spec, &CacheRows::kv_heads))},
                   {"head_dim", json_or_null(common(spec, &CacheRows::key_dim))},
                   {"tokens", row.tokens},
                   {"batch", row.batch},
                   {"cache_dtype", types.name()},
                   {"bytes", bytes.total},
                   {"k_bytes", bytes.keys},
                   {"v_bytes", bytes.values},
                   {"state_bytes", bytes.state},
                   {"token_bytes", row.token_bytes},
                   {"text", size_text(bytes.total)},
                   {"k_dtype", types.keys.name},
                   {"v_dtype", types.values.name},
                   {"encoder_tokens", row.encoder_tokens},
                   {"cross_bytes", bytes.cross},
                   {"indexer_bytes", bytes.indexer},
                   {"tensor_parallel", row.ranks},
                   {"rank_bytes", bytes.rank},
                   {"runtime", runtime_name(grid.runtime.kind)},
                   {"ideal_bytes", grid.ideal(row).total}};
    if (o.explain) result["arithmetic"] = arithmetic(spec, grid.question(i));
    results.push_back(std::move(result));
  }
  Json document = {{"results", std::move(results)}};
  Json models = Json::array();
  for (const CacheSpec& spec : grid.shapes) {
    if (!spec.facts.empty()) models.push_back(json_model(spec));
  }
  if (!models.empty()) document["models"] = std::move(models);
  return cli::json_text(document);
}

}  // namespace attn
