#include "check/posenc/posenc_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/posenc/posenc_attributes.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

[[noreturn]] void fail(const Hdf5Reader& file, const std::string& what) {
  throw DataError(fmt::format("{}: {}", file.name(), what));
}

bool take(const Hdf5Reader& file, const char* name, PosencCase& c) {
  const std::string path = fmt::format("/{}", name);
  if (!file.has_dataset(path)) return false;
  c.parts.push_back({name, file.read<double>(path), file.info(path).type});
  if (c.parts.back().values.size() == 0) fail(file, path + " holds no numbers");
  return true;
}

void require_rank(const Hdf5Reader& file, const PosencPart& part, Index rank, const char* axes) {
  if (part.values.rank() == rank) return;
  fail(file, fmt::format("/{} wants the axes {}, its shape is {}", part.name, axes,
                         shape_text(part.values.shape)));
}

void require_positions(const Hdf5Reader& file, const std::string& name, Index rows, Index count) {
  if (rows == count) return;
  fail(file, fmt::format("/{} has {} rows, there are {} positions", name, rows, count));
}

// 0, 1, 2 ... where the file has none.
std::vector<double> read_positions(const Hdf5Reader& file, Index rows, PosencCase& c) {
  std::vector<double> positions;
  if (file.has_dataset("/positions")) {
    const Tensor<double> read = file.read<double>("/positions");
    if (read.rank() != 1) {
      fail(file, "/positions wants one axis, its shape is " + shape_text(read.shape));
    }
    for (const double p : read.values) {
      if (!std::isfinite(p)) fail(file, "/positions holds a value that is not finite");
    }
    return read.values;
  }
  for (Index p = 0; p < rows; ++p) positions.push_back(static_cast<double>(p));
  c.assumed.push_back(fmt::format("positions: 0 to {}", rows - 1));
  return positions;
}

void read_sinusoidal(const Hdf5Reader& file, PosencCase& c) {
  if (!take(file, "table", c)) fail(file, "a sinusoidal case needs /table");
  const PosencPart& table = c.parts.front();
  require_rank(file, table, 2, "(position, feature)");
  c.positions = read_positions(file, table.values.dim(0), c);
  require_positions(file, "table", table.values.dim(0), static_cast<Index>(c.positions.size()));
  PosencAttributes attributes(file, c);
  SinusoidalRules& rules = c.sinusoidal;
  rules.dim = attributes.count("dim", table.values.dim(1));
  rules.base = attributes.positive("base", rules.base);
  rules.concatenated = attributes.word("convention", {"interleaved", "concatenated"}) == 1;
  rules.tensor2tensor = attributes.word("variant", {"vaswani", "tensor2tensor"}) == 1;
  if (rules.dim != table.values.dim(1)) {
    fail(file, fmt::format("/table has {} features, dim is {}", table.values.dim(1), rules.dim));
  }
}

// The width of a head where no attribute says it.
Index width_of_head(const PosencCase& c, Index y_width, Index rotary_dim) {
  if (c.x) return c.x->dim(-1);
  if (y_width > 0) return y_width;
  if (rotary_dim > 0) return rotary_dim;
  return 2 * c.parts.front().values.dim(-1);
}

void check_rope_shapes(const Hdf5Reader& file, const PosencCase& c) {
  const Index n = static_cast<Index>(c.positions.size());
  for (const PosencPart& part : c.parts) {
    if (part.name == "inv_freq") {
      require_rank(file, part, 1, "(pair)");
    } else if (part.name == "y") {
      if (part.values.shape != c.x->shape) {
        fail(file, fmt::format("/y of shape {} is not the rotated /x of shape {}",
                               shape_text(part.values.shape), shape_text(c.x->shape)));
      }
    } else {
      require_rank(file, part, 2, "(position, pair)");
      require_positions(file, part.name, part.values.dim(0), n);
    }
  }
  if (!c.x) return;
  if (c.x->rank() < 2) fail(file, "/x wants the axes (..., position, feature)");
  require_positions(file, "x", c.x->dim(-2), n);
  if (c.x->dim(-1) != c.rope.head_dim) {
    fail(file, fmt::format("/x has {} features, head_dim is {}", c.x->dim(-1), c.rope.head_dim));
  }
}

Index rope_rows(const PosencCase& c) {
  for (const PosencPart& part : c.parts) {
    if (part.name == "y" && part.values.rank() >= 2) return part.values.dim(-2);
    if (part.name != "inv_freq") return part.values.dim(0);
  }
  return 1;
}

void read_rope(const Hdf5Reader& file, PosencCase& c) {
  Index y_width = 0;
  for (const char* name : {"inv_freq", "cos", "sin", "y"}) take(file, name, c);
  if (c.parts.empty()) fail(file, "a rope case needs /inv_freq, /cos, /sin or /y");
  if (file.has_dataset("/x")) c.x = file.read<double>("/x");
  if (!c.x && c.part("y") != nullptr) {
    c.unchecked = "there is no /x that it was rotated from";
    if (c.parts.size() == 1) fail(file, "/y needs /x, what it was rotated from");
    y_width = c.parts.back().values.dim(-1);
    c.parts.pop_back();
  }
  c.positions = read_positions(file, rope_rows(c), c);
  PosencAttributes attributes(file, c);
  RopeRules& rules = c.rope;
  const Index rotary = attributes.given_count("rotary_dim").value_or(0);
  rules.head_dim = attributes.count("head_dim", width_of_head(c, y_width, rotary));
  rules.rotary_dim = rotary > 0 ? rotary : rules.head_dim;
  if (rules.rotary_dim % 2 != 0 || rules.rotary_dim > rules.head_dim) {
    fail(file, fmt::format("rotary_dim must be even and at most head_dim {}, it is {}",
                           rules.head_dim, rules.rotary_dim));
  }
  rules.pairs = attributes.word("convention", {"half_split", "interleaved"}) == 1
                    ? RopePairs::kInterleaved
                    : RopePairs::kHalves;
  check_rope_shapes(file, c);
  read_rope_scaling(file, attributes, c);
  if (const auto fault = rope_scaling_fault(rules.rotary_dim, rules.theta, rules.scaling)) {
    fail(file, *fault);
  }
}

void read_alibi(const Hdf5Reader& file, PosencCase& c) {
  for (const char* name : {"slopes", "bias"}) take(file, name, c);
  if (c.parts.empty()) fail(file, "an alibi case needs /slopes or /bias");
  PosencAttributes attributes(file, c);
  c.alibi.heads = attributes.count("heads", c.parts.front().values.dim(0));
  c.alibi.causal = file.int_attribute("/", "causal").value_or(0) != 0;
  for (const PosencPart& part : c.parts) {
    const bool bias = part.name == "bias";
    require_rank(file, part, bias ? 3 : 1, bias ? "(head, query, key)" : "(head)");
    if (part.values.dim(0) != c.alibi.heads) {
      fail(file, fmt::format("/{} is of {} heads, heads is {}", part.name, part.values.dim(0),
                             c.alibi.heads));
    }
  }
}

void read_t5(const Hdf5Reader& file, PosencCase& c) {
  if (!take(file, "bucket", c)) fail(file, "a t5 case needs /bucket");
  const Tensor<double>& buckets = c.parts.front().values;
  if (file.has_dataset("/relative_position")) {
    c.relative = file.read<double>("/relative_position");
  } else if (buckets.rank() == 2) {
    c.relative = Tensor<double>(buckets.shape);
    const Index ahead = buckets.dim(1) - buckets.dim(0);
    for (Index n = 0; n < buckets.size(); ++n) {
      const Index query = n / buckets.dim(1);
      c.relative.data()[n] = static_cast<double>(n % buckets.dim(1) - query - ahead);
    }
    c.assumed.emplace_back("relative_position: key - query, the last query at the last key");
  } else {
    fail(file, "a t5 case needs /relative_position, key - query of each bucket");
  }
  if (c.relative.shape != c.parts.front().values.shape) {
    fail(file, fmt::format("/bucket of shape {} does not fit /relative_position of shape {}",
                           shape_text(c.parts.front().values.shape), shape_text(c.relative.shape)));
  }
  for (const double r : c.relative.values) {
    if (r != std::floor(r)) fail(file, "/relative_position holds a value that is no whole number");
  }
  PosencAttributes attributes(file, c);
  T5Rules& rules = c.t5;
  rules.num_buckets = attributes.count("num_buckets", rules.num_buckets);
  rules.max_distance = attributes.count("max_distance", rules.max_distance);
  rules.bidirectional = attributes.flag("bidirectional", true);
  const Index exact = rules.num_buckets / (rules.bidirectional ? 4 : 2);
  if (exact < 1 || rules.max_distance <= exact) {
    fail(file, fmt::format("{} buckets of which {} are exact do not reach max_distance {}",
                           rules.num_buckets, exact, rules.max_distance));
  }
}

PosencKind kind_of(const Hdf5Reader& file, PosencCase& c) {
  using enum PosencKind;
  const auto kind = file.text_attribute("/", "kind");
  const std::initializer_list<std::pair<const char*, PosencKind>> marks = {
      {"/table", kSinusoidal}, {"/slopes", kAlibi}, {"/bias", kAlibi}, {"/bucket", kT5},
      {"/inv_freq", kRope},    {"/cos", kRope},     {"/sin", kRope},   {"/y", kRope}};
  if (!kind) {
    for (const auto& [dataset, meant] : marks) {
      if (!file.has_dataset(dataset)) continue;
      c.assumed.push_back(
          fmt::format("kind: {}, as there is {}", posenc_kind_name(meant), dataset));
      return meant;
    }
    fail(file,
         "has neither a 'kind' nor a dataset of one: table, cos, sin, inv_freq, y, slopes, "
         "bias, bucket");
  }
  for (const PosencKind known : {kSinusoidal, kRope, kAlibi, kT5}) {
    if (*kind == posenc_kind_name(known)) return known;
  }
  if (*kind == "learned") fail(file, "a learned table has no formula to be checked against");
  fail(file, fmt::format("kind '{}' is none of sinusoidal, rope, alibi, t5", escaped(*kind)));
}

}  // namespace

const char* posenc_kind_name(PosencKind kind) {
  switch (kind) {
    case PosencKind::kSinusoidal:
      return "sinusoidal";
    case PosencKind::kRope:
      return "rope";
    case PosencKind::kAlibi:
      return "alibi";
    case PosencKind::kT5:
      break;
  }
  return "t5";
}

const PosencPart* PosencCase::part(std::string_view name) const {
  for (const PosencPart& one : parts) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

PosencCase read_posenc_case(const Hdf5Reader& file) {
  PosencCase c;
  c.kind = kind_of(file, c);
  switch (c.kind) {
    case PosencKind::kSinusoidal:
      read_sinusoidal(file, c);
      break;
    case PosencKind::kRope:
      read_rope(file, c);
      break;
    case PosencKind::kAlibi:
      read_alibi(file, c);
      break;
    case PosencKind::kT5:
      read_t5(file, c);
      break;
  }
  return c;
}

}  // namespace attn
