#include "posenc-dump/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/number.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/tensor_argument.h"
#include "model/rope_config.h"

namespace attn {
namespace {

constexpr Index kLastPosition = 2147483646;

bool names_a_file(const std::string& value) {
  std::error_code ignored;
  return value.find(":/") != std::string::npos || std::filesystem::exists(value, ignored);
}

std::vector<Index> whole_numbers(const std::string& value, const std::string& option,
                                 Index max_bytes) {
  const Tensor<double> read = tensor_argument(value, option, {.max_bytes = max_bytes});
  if (read.rank() > 1) {
    throw DataError(fmt::format("{}: {} wants one axis, its shape is {}", option, escaped(value),
                                shape_text(read.shape)));
  }
  std::vector<Index> numbers;
  for (const double number : read.values) {
    if (!(number >= 0 && number <= static_cast<double>(kLastPosition)) ||
        number != std::floor(number)) {
      throw DataError(fmt::format("{}: {} holds {}, no whole number from 0 to {}", option,
                                  escaped(value), number, kLastPosition));
    }
    numbers.push_back(static_cast<Index>(number));
  }
  return numbers;
}

}  // namespace

std::vector<Index> positions_from(const std::string& value, const std::string& option,
                                  Index max_bytes) {
  if (names_a_file(value)) return whole_numbers(value, option, max_bytes);
  return cli::parse_counts(value, option, {.lowest = 0, .highest = kLastPosition});
}

std::vector<Index> positions_from(Index first, Index count) {
  if (first > kLastPosition - count + 1) {
    throw UsageError(fmt::format("positions end at {}: {} from {} on are too many", kLastPosition,
                                 count, first));
  }
  std::vector<Index> positions;
  positions.reserve(static_cast<std::size_t>(count));
  for (Index p = 0; p < count; ++p) positions.push_back(first + p);
  return positions;
}

namespace {

// Where the table would not fit, its positions are not made either.
void check_rows(Index rows, Index columns, Index max_bytes) {
  const auto count = checked_mul(rows, columns);
  const auto bytes = count ? checked_mul(*count, sizeof(double)) : std::nullopt;
  if (bytes && *bytes <= max_bytes) return;
  throw DataError(
      fmt::format("a table of shape {} needs {}, and may take {}", shape_text({rows, columns}),
                  bytes ? short_size_text(*bytes) : "more than 2^63 bytes",
                  short_size_text(max_bytes)),
      {"--max-bytes allows more"});
}

std::vector<Index> wanted_positions(const PosencOptions& o, Index columns) {
  if (!o.positions.empty()) return positions_from(o.positions, "--positions", o.max_bytes);
  if (!o.length) return {};
  check_rows(*o.length, columns, o.max_bytes);
  return positions_from(o.offset, *o.length);
}

Index last_of(const std::vector<Index>& positions) {
  return positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end());
}

// Parameters that were typed stand over those of the file.
void override_scaling(const PosencOptions& o, const cli::Session& session, RopeScaling& s) {
  const RopeScaling& typed = o.scaling;
  if (session.given("scaling")) s.kind = typed.kind;
  if (session.given("factor")) s.factor = typed.factor;
  if (session.given("original-max-position-embeddings")) {
    s.original_max_positions = typed.original_max_positions;
  }
  if (session.given("beta-fast")) s.beta_fast = typed.beta_fast;
  if (session.given("beta-slow")) s.beta_slow = typed.beta_slow;
  if (session.given("truncate")) s.truncate = typed.truncate;
  if (typed.attention_factor) s.attention_factor = typed.attention_factor;
  if (typed.mscale) s.mscale = typed.mscale;
  if (typed.mscale_all_dim) s.mscale_all_dim = typed.mscale_all_dim;
  if (session.given("low-freq-factor")) s.low_freq_factor = typed.low_freq_factor;
  if (session.given("high-freq-factor")) s.high_freq_factor = typed.high_freq_factor;
  if (session.given("long-factor")) s.long_factor = typed.long_factor;
  if (session.given("short-factor")) s.short_factor = typed.short_factor;
}

RopeSettings settings_of(const PosencOptions& o, const cli::Session& session) {
  RopeSettings made;
  if (o.config.empty()) {
    made.head_dim = o.dim.value_or(0);
    made.rotary_dim = o.rotary_dim.value_or(made.head_dim);
    made.theta = o.base;
    made.pairs = o.rope_style;
    made.scaling = o.scaling;
    return made;
  }
  const ByteSource file = ByteSource::open(o.config, o.max_bytes);
  const RopeConfig config = parse_rope_config(as_text(file.bytes()), file.name(), o.layer_type);
  made.head_dim = o.dim.value_or(config.head_dim);
  made.rotary_dim = o.rotary_dim.value_or(config.rotary_dim == config.head_dim ? made.head_dim
                                                                               : config.rotary_dim);
  made.theta = session.given("base") ? o.base : config.theta;
  made.pairs = session.given("rope-style") ? o.rope_style : config.pairs;
  made.scaling = config.scaling;
  override_scaling(o, session, made.scaling);
  if (!config.theta_given && !session.given("base")) {
    session.warn(fmt::format("{} says no rope_theta: {} is taken", file.name(), config.theta));
  }
  return made;
}

}  // namespace

RopeSettings rope_settings(const PosencOptions& o, const cli::Session& session,
                           Index last_position) {
  RopeSettings made = settings_of(o, session);
  made.seq_len = session.given("seq-len") ? o.seq_len : last_position + 1;
  if (made.head_dim == 0) return made;
  if (made.rotary_dim % 2 != 0 || made.rotary_dim > made.head_dim) {
    throw UsageError(fmt::format("--rotary-dim must be even and at most dim {}, got {}",
                                 made.head_dim, made.rotary_dim));
  }
  if (const auto fault = rope_scaling_fault(made.rotary_dim, made.theta, made.scaling)) {
    throw UsageError(fmt::format("--scaling: {}", *fault));
  }
  return made;
}

namespace {

PositionTables rope(const PosencOptions& o, const cli::Session& session) {
  const std::vector<Index> positions = wanted_positions(o, o.dim.value_or(2));
  return rope_tables(positions, rope_settings(o, session, last_of(positions)), o.max_bytes);
}

// RoBERTa counts from the row after padding's, BART and OPT from row 2.
Index row_of_first(const PosencOptions& o) {
  if (o.row_offset == "bart" || o.row_offset == "opt") return 2;
  if (o.row_offset == "roberta") return o.padding_idx + 1;
  return cli::parse_count(o.row_offset, "--row-offset", {.lowest = 0, .highest = kLastPosition});
}

// Padding stands where it was put: in the row before the first.
std::vector<Index> token_positions(const PosencOptions& o) {
  std::vector<Index> positions;
  Index next = 0;
  for (const Index id : positions_from(o.tokens, "--tokens", o.max_bytes)) {
    positions.push_back(id == o.padding_idx ? -1 : next++);
  }
  return positions;
}

PositionTables learned(const PosencOptions& o, const cli::Session& session,
                       Provenance& provenance) {
  const Hdf5Reader file = Hdf5Reader::open(o.input, {.max_bytes = o.max_bytes});
  if (!session.given("dataset")) {
    const std::string position = file.text_attribute("/", "position").value_or("learned");
    if (position != "learned") {
      throw DataError(fmt::format("{}: its positions are '{}', so there is no learned table",
                                  file.name(), escaped(position)),
                      {"--kind computes the table of any other kind"});
    }
  }
  const bool by_token = !o.tokens.empty();
  const Index offset = by_token && o.row_offset == "0" ? o.padding_idx + 1 : row_of_first(o);
  if (by_token && offset == 0) throw UsageError("--tokens needs a row before the first position's");
  const std::vector<Index> positions = by_token ? token_positions(o) : wanted_positions(o, 1);
  PositionTables tables = learned_tables(file, o.dataset, positions, offset, o.max_bytes);
  const Index width = tables.parts.front().values.dim(1);
  if (o.dim && *o.dim != width) {
    throw UsageError(fmt::format("--dim {} is not the width {} of {}", *o.dim, width, file.name()));
  }
  provenance.earlier_history = read_history(file);
  return tables;
}

PositionTables computed(const PosencOptions& o, const cli::Session& session,
                        Provenance& provenance) {
  const Index queries = o.length.value_or(0);
  const Index keys = o.keys.value_or(queries);
  switch (o.kind) {
    case PositionKind::kLearned:
      return learned(o, session, provenance);
    case PositionKind::kRope:
      return rope(o, session);
    case PositionKind::kAlibi:
      return alibi_tables({o.heads, queries, keys, o.causal}, o.max_bytes);
    case PositionKind::kT5:
      if (o.max_distance <= o.num_buckets / (o.causal ? 2 : 4) ||
          o.num_buckets < (o.causal ? 2 : 4)) {
        throw UsageError(
            fmt::format("--num-buckets {} and --max-distance {} leave no bucket for far "
                        "keys",
                        o.num_buckets, o.max_distance));
      }
      return t5_tables({queries, keys, o.num_buckets, o.max_distance, !o.causal}, o.max_bytes);
    default:
      return sinusoidal_tables(wanted_positions(o, o.dim.value_or(1)), {*o.dim, o.base, o.form},
                               o.max_bytes);
  }
}

}  // namespace

PositionTables make_tables(const PosencOptions& o, const cli::Session& session,
                           Provenance& provenance) {
  if ((o.kind == PositionKind::kAlibi || o.kind == PositionKind::kT5) && o.keys &&
      *o.keys < *o.length) {
    throw UsageError(
        fmt::format("--keys {} is less than --length {}: the first queries would stand "
                    "before the first key",
                    *o.keys, *o.length));
  }
  return rounded_to(o.dtype, computed(o, session, provenance));
}

}  // namespace attn
