#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_reader.h"
#include "ops/positions.h"

namespace attn {

enum class PosencKind { kSinusoidal, kRope, kAlibi, kT5 };

/// "sinusoidal", "rope", "alibi", "t5".
const char* posenc_kind_name(PosencKind kind);

/// How a sinusoidal table is meant to be made.
struct SinusoidalRules {
  Index dim = 0;
  double base = 10000;
  bool concatenated = false;   ///< all sines, then all cosines; otherwise in turn
  bool tensor2tensor = false;  ///< exponent i / (half - 1); otherwise 2i / dim
};

/// How rotary tables are meant to be made, and x rotated.
struct RopeRules {
  Index head_dim = 0;
  Index rotary_dim = 0;  ///< the features that turn, the first of a head
  double theta = 10000;
  RopePairs pairs = RopePairs::kHalves;
  RopeScaling scaling;
  Index seq_len = 0;  ///< of dynamic and longrope
};

struct AlibiRules {
  Index heads = 0;
  bool causal = false;  ///< of the bias, only keys at or before the query are looked at
};

struct T5Rules {
  Index num_buckets = 32;
  Index max_distance = 128;
  bool bidirectional = true;
};

/// One tensor under test, as somebody stored it.
struct PosencPart {
  std::string name;  ///< its dataset: "cos", "table"
  Tensor<double> values;
  DType stored = DType::kF32;
};

/// Somebody's positional tables and what they are meant to be.
struct PosencCase {
  PosencKind kind = PosencKind::kSinusoidal;
  SinusoidalRules sinusoidal;
  RopeRules rope;
  AlibiRules alibi;
  T5Rules t5;
  std::vector<double> positions;    ///< sinusoidal and rope: (n)
  std::optional<Tensor<double>> x;  ///< rope: (..., n, head_dim), what /y was made from
  Tensor<double> relative;          ///< t5: key - query, of any shape
  std::vector<PosencPart> parts;    ///< at least one
  std::string unchecked;            ///< rope: why /y is left out of the parts; mostly empty
  /// What the file did not say: "theta: 10000".
  std::vector<std::string> assumed;

  const PosencPart* part(std::string_view name) const;
};

/// Reads and validates a case. Attributes that are missing are assumed: where a shape tells them,
/// that; where the tables fit one of the usual values and not the default, that; else the default.
/// DataError names file and object for what is missing, contradicts itself or is not known.
PosencCase read_posenc_case(const Hdf5Reader& file);

}  // namespace attn
