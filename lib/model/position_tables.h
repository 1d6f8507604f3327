#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "ops/positions.h"
#include "ops/rope_scaling.h"

namespace attn {

/// One tensor that describes positions.
struct PositionPart {
  std::string name;  ///< its dataset: "table", "cos", "slopes"
  Tensor<double> values;
  std::vector<std::string> axes;          ///< what each axis counts: "position", "feature"
  std::vector<std::string> columns = {};  ///< names along the last axis, where they have any
  enum class Kept { kAsAsked, kExactly, kWhole };
  Kept kept = Kept::kAsAsked;  ///< exactly: f64, whole: i32, whatever the others' type
  bool aside = false;          ///< follows from the others: shown only where asked for
};

using PositionAttribute = std::variant<Index, double, std::string>;

/// Everything one kind of positions consists of, and what it was made with.
struct PositionTables {
  std::string kind;   ///< sinusoidal, learned, rope, alibi, t5
  std::string title;  ///< one line for people
  std::vector<PositionPart> parts;
  std::vector<std::pair<std::string, PositionAttribute>> attributes;
  std::vector<Index> positions = {};  ///< of the rows; of alibi and t5 none
  DType dtype = DType::kF64;          ///< what the numbers are rounded to
};

// All of these take what the tensors may need at most, in bytes, and throw DataError ("needs 233
// TiB") before they are made. Numbers are computed in double.

/// /table (positions, dim), /inv_freq and /wavelength.
struct SinusoidalSettings {
  Index dim = 0;
  double base = 10000;
  SinusoidalForm form = {};
};
PositionTables sinusoidal_tables(const std::vector<Index>& positions,
                                 const SinusoidalSettings& settings, Index max_bytes);

/// /cos and /sin (positions, rotary_dim / 2), the attention factor included, /inv_freq
/// (rotary_dim / 2), /wavelength (head_dim): positions until a feature has turned once, infinite
/// for features that do not turn.
struct RopeSettings {
  Index head_dim = 0;
  Index rotary_dim = 0;  ///< even
  double theta = 10000;
  RopePairs pairs = RopePairs::kHalves;
  RopeScaling scaling = {};  ///< one in which rope_scaling_fault finds nothing
  Index seq_len = 0;
};
PositionTables rope_tables(const std::vector<Index>& positions, const RopeSettings& settings,
                           Index max_bytes);

/// /slopes (heads), /bias (heads, q_len, kv_len) = -slope * |i + kv_len - q_len - j|: the last
/// query stands at the last key. Causal: minus infinity for keys after the query.
struct AlibiSettings {
  Index heads = 0;
  Index q_len = 0;
  Index kv_len = 0;
  bool causal = false;
};
PositionTables alibi_tables(const AlibiSettings& settings, Index max_bytes);

/// /bucket and /relative_position (q_len, kv_len): key - query, the last query at the last key.
struct T5Settings {
  Index q_len = 0;
  Index kv_len = 0;
  Index num_buckets = 32;
  Index max_distance = 128;
  bool bidirectional = true;
};
PositionTables t5_tables(const T5Settings& settings, Index max_bytes);

/// /table: rows of a checkpoint's learned table at `dataset`, that of position p at row p +
/// `offset`; no positions: all from row `offset` on. DataError where there is none of that shape.
PositionTables learned_tables(const Hdf5Reader& file, const std::string& dataset,
                              const std::vector<Index>& positions, Index offset, Index max_bytes);

/// The same tables with every number that is not a whole one rounded to a type: f64, f32, f16 or
/// bf16.
PositionTables rounded_to(DType dtype, PositionTables tables);

/// Datasets, attributes and a scale for every axis (/positions, /features, /heads ...).
void write_position_tables(Hdf5Writer& writer, const PositionTables& tables);

}  // namespace attn
