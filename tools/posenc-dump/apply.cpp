#include "posenc-dump/apply.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_rewrite.h"
#include "io/output.h"
#include "io/provenance.h"
#include "posenc-dump/tables.h"

namespace attn {
namespace {

// The axis of rows: (..., rows, features), or (batch, rows, heads, features).
Index row_axis(const Hdf5Reader& file, const std::string& path, const Shape& shape) {
  const std::string layout = file.text_attribute("/", "layout").value_or("BHSD");
  const Index rank = static_cast<Index>(shape.size());
  const bool rows_first = layout == "BSHD";
  if (!rows_first && layout != "BHSD") {
    throw DataError(
        fmt::format("{}: layout '{}' is neither BHSD nor BSHD", file.name(), escaped(layout)));
  }
  if (rank < (rows_first ? 3 : 2)) {
    throw DataError(fmt::format("{}: {} of shape {} has no rows of features", file.name(), path,
                                shape_text(shape)));
  }
  return rank - (rows_first ? 3 : 2);
}

// Packed sequences begin anew, each at its first position.
std::vector<Index> counted(const Hdf5Reader& file, const char* boundaries, Index first,
                           Index rows) {
  std::vector<Index> positions = positions_from(first, rows);
  if (!file.has_dataset(boundaries)) return positions;
  const std::vector<Index> starts = file.read<Index>(boundaries).values;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    for (Index r = std::max<Index>(0, starts[s]); r < std::min(rows, starts[s + 1]); ++r) {
      positions[static_cast<std::size_t>(r)] = first + r - starts[s];
    }
  }
  return positions;
}

std::vector<Index> stored_positions(const Hdf5Reader& file, Index rows) {
  if (!file.has_dataset("/positions")) return {};
  std::vector<Index> positions = file.read<Index>("/positions").values;
  if (static_cast<Index>(positions.size()) != rows) positions.clear();
  return positions;
}

struct Side {
  const char* path;
  const char* boundaries;
  const char* option;
  std::string typed;           // --positions or --key-positions
  std::optional<Index> first;  // an offset that was typed
};

std::vector<Index> positions_of(const Hdf5Reader& file, const Side& side, Index rows,
                                Index max_bytes) {
  std::vector<Index> positions;
  if (!side.typed.empty()) {
    positions = positions_from(side.typed, side.option, max_bytes);
  } else if (!side.first) {
    positions = stored_positions(file, rows);
  }
  if (side.typed.empty() && positions.empty()) {
    positions = counted(file, side.boundaries, side.first.value_or(0), rows);
  }
  if (static_cast<Index>(positions.size()) != rows) {
    throw UsageError(fmt::format("{} names {} positions, {} has {} rows", side.option,
                                 positions.size(), side.path, rows));
  }
  return positions;
}

// Turns each head's features, in double.
void turn(Tensor<double>& x, Index axis, const std::vector<Index>& positions,
          const RopeFrequencies& frequencies, RopePairs pairs) {
  const Index width = x.dim(-1);
  Index inner = 1;  // heads of one row
  for (Index a = axis + 1; a + 1 < x.rank(); ++a) inner *= x.dim(a);
  const Index rows = x.dim(axis);
  const Index row_width = inner * width;
  for (Index r = 0; r < rows; ++r) {
    const RopeTable<double> table(frequencies, positions[static_cast<std::size_t>(r)], 1);
    for (Index at = r * row_width; at < x.size(); at += rows * row_width) {
      rope_rotate<double>(table, pairs, width, table.first, {x.data() + at, 1, row_width});
    }
  }
}

}  // namespace

int run_apply(const PosencOptions& o, cli::Session& session) {
  check_output(o.output, {o.apply});
  const ByteSource source = ByteSource::open(o.apply, o.max_bytes);
  const Hdf5Reader file = Hdf5Reader::from_bytes({source.bytes().begin(), source.bytes().end()},
                                                 source.name(), {.max_bytes = o.max_bytes});
  const Shape q_shape = file.info("/q").shape;
  const Shape k_shape = file.info("/k").shape;
  const Index q_axis = row_axis(file, "/q", q_shape);
  const Index k_axis = row_axis(file, "/k", k_shape);
  const Index queries = q_shape[static_cast<std::size_t>(q_axis)];
  const Index keys = k_shape[static_cast<std::size_t>(k_axis)];
  if (q_shape.back() != k_shape.back()) {
    throw DataError(fmt::format("{}: /q has {} features a head, /k {}", source.name(),
                                q_shape.back(), k_shape.back()));
  }
  std::optional<Index> q_first;
  if (session.given("offset")) q_first = o.offset;
  std::optional<Index> k_first = o.key_offset;
  if (!k_first && q_first && queries == keys) k_first = q_first;
  const std::string key_positions =
      o.key_positions.empty() && queries == keys && !o.key_offset ? o.positions : o.key_positions;
  const Side sides[] = {{"/q", "/cu_seqlens_q", "--positions", o.positions, q_first},
                        {"/k", "/cu_seqlens_k", "--key-positions", key_positions, k_first}};
  PosencOptions widths = o;
  if (!o.dim && o.config.empty()) widths.dim = q_shape.back();
  std::vector<std::vector<Index>> positions;
  Index last = 0;
  for (const Side& side : sides) {
    positions.push_back(
        positions_of(file, side, side.path == sides[0].path ? queries : keys, o.max_bytes));
    for (const Index p : positions.back()) last = std::max(last, p);
  }
  const RopeSettings rope = rope_settings(widths, session, last);
  if (rope.head_dim != q_shape.back()) {
    throw DataError(fmt::format("{}: /q has {} features a head, {} says {}", source.name(),
                                q_shape.back(), o.dim ? "--dim" : "--config", rope.head_dim));
  }
  const RopeFrequencies frequencies =
      rope_frequencies(rope.rotary_dim, rope.theta, rope.scaling, rope.seq_len);
  std::vector<NewNumbers> turned;
  for (std::size_t s = 0; s < 2; ++s) {
    turned.push_back({sides[s].path, file.read<double>(sides[s].path)});
    turn(turned.back().values, s == 0 ? q_axis : k_axis, positions[s], frequencies, rope.pairs);
  }
  const std::string history = extended_history(read_history(file), session.history());
  write_output(o.output, rewritten(source.bytes(), source.name(), turned, history));
  session.report().print("{}: rotated /q {} and /k {}: {} of {} features, base {}, scaling {}\n",
                         source.name(), shape_text(q_shape), shape_text(k_shape), rope.rotary_dim,
                         rope.head_dim, rope.theta, rope_scaling_name(rope.scaling.kind));
  session.did(fmt::format("rotated /q and /k of {}", source.name()));
  return cli::kDone;
}

}  // namespace attn
