#pragma once

#include <optional>
#include <string>

#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// The model and the types of a row.
const CacheSpec& shape_of(const SizeGrid& grid, const SizeRow& row);
const TypePair& types_of(const SizeGrid& grid, const SizeRow& row);
/// Key-value heads or features of a head, where all rows have the same; indexer rows aside.
std::optional<Index> common(const CacheSpec& spec, Index CacheRows::*field);

/// The grid as one JSON document: its results, and the models with their layers and where their
/// numbers came from. UsageError for more rows than a document should have.
std::string sizes_as_json(const SizeGrid& grid, const SizeOptions& options);

}  // namespace attn
