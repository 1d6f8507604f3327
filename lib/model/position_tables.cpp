#include "model/position_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// Zeros, unless they would take more than they may.
Tensor<double> zeros(const Shape& shape, Index max_bytes) {
  const auto count = checked_product(shape);
  const auto bytes = count ? checked_mul(*count, sizeof(double)) : std::nullopt;
  if (!bytes || *bytes > max_bytes) {
    throw DataError(fmt::format("a table of shape {} needs {}, and may take {}", shape_text(shape),
                                bytes ? short_size_text(*bytes) : "more than 2^63 bytes",
                                short_size_text(max_bytes)),
                    {"--max-bytes allows more"});
  }
  return Tensor<double>(shape);
}

std::vector<std::string> numbered(const char* word, Index count) {
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i) names.push_back(fmt::format("{}_{}", word, i));
  return names;
}

Index count_of(const std::vector<Index>& positions) {
  return static_cast<Index>(positions.size());
}

PositionPart line(const char* name, const std::vector<double>& values, const char* axis) {
  PositionPart part{name, Tensor<double>({static_cast<Index>(values.size())}, values), {axis}};
  return part;
}

// Positions until a pair of this frequency has turned once.
double wavelength(double frequency) {
  return frequency > 0 ? kTwoPi / frequency : std::numeric_limits<double>::infinity();
}

}  // namespace

PositionTables sinusoidal_tables(const std::vector<Index>& positions, const SinusoidalSettings& s,
                                 Index max_bytes) {
  const Index rows = count_of(positions);
  PositionPart table{"table", zeros({rows, s.dim}, max_bytes), {"position", "feature"}};
  const auto frequencies = sinusoidal_frequencies(s.dim, s.base, s.form.tensor2tensor);
  for (Index r = 0; r < rows; ++r) {
    sinusoidal_row(frequencies, s.form, static_cast<double>(positions[static_cast<std::size_t>(r)]),
                   table.values.matrix().row_block(r, 1));
  }
  const Index pairs = static_cast<Index>(frequencies.size());
  table.columns.assign(static_cast<std::size_t>(s.dim), "zero");
  std::vector<double> waves(static_cast<std::size_t>(s.dim), wavelength(0));
  for (Index i = 0; i < pairs; ++i) {
    const Index sine = s.form.concatenated ? i : 2 * i;
    const Index cosine = s.form.concatenated ? pairs + i : 2 * i + 1;
    for (const Index c : {sine, cosine}) {
      if (c >= s.dim) continue;
      table.columns[static_cast<std::size_t>(c)] =
          fmt::format("{}_{}", c == sine ? "sin" : "cos", i);
      waves[static_cast<std::size_t>(c)] = wavelength(frequencies[static_cast<std::size_t>(i)]);
    }
  }
  PositionTables made{"sinusoidal",
                      fmt::format("sinusoidal positions: {} x {}, base {}", rows, s.dim, s.base),
                      {std::move(table), line("inv_freq", frequencies, "pair"),
                       line("wavelength", waves, "feature")},
                      {{"dim", s.dim},
                       {"base", s.base},
                       {"convention", s.form.concatenated ? "concatenated" : "interleaved"},
                       {"variant", s.form.tensor2tensor ? "tensor2tensor" : "vaswani"}},
                      positions};
  made.parts[1].aside = made.parts[2].aside = true;
  return made;
}

namespace {

// Those parameters that the kind of scaling reads, under their names in files.
void add_scaling(const RopeSettings& settings, PositionTables& tables) {
  using enum RopeScalingKind;
  const RopeScaling& s = settings.scaling;
  auto& attributes = tables.attributes;
  attributes.emplace_back("scaling", std::string(rope_scaling_name(s.kind)));
  if (s.kind == kNone) return;
  attributes.emplace_back("factor", s.factor);
  if (s.kind == kLinear || s.kind == kNtk) return;
  attributes.emplace_back("original_max_position_embeddings", s.original_max_positions);
  if (s.kind == kDynamic || s.kind == kLongrope) {
    // A length of 0 is one within the original.
    attributes.emplace_back("seq_len",
                            settings.seq_len > 0 ? settings.seq_len : s.original_max_positions);
  }
  if (s.kind == kYarn) {
    attributes.emplace_back("beta_fast", s.beta_fast);
    attributes.emplace_back("beta_slow", s.beta_slow);
    attributes.emplace_back("truncate", Index{s.truncate ? 1 : 0});
    if (s.mscale) attributes.emplace_back("mscale", *s.mscale);
    if (s.mscale_all_dim) attributes.emplace_back("mscale_all_dim", *s.mscale_all_dim);
  }
  if (s.kind == kLlama3) {
    attributes.emplace_back("low_freq_factor", s.low_freq_factor);
    attributes.emplace_back("high_freq_factor", s.high_freq_factor);
  }
  if (s.attention_factor && (s.kind == kYarn || s.kind == kLongrope)) {
    attributes.emplace_back("attention_factor", *s.attention_factor);
  }
  if (s.kind == kLongrope) {
    tables.parts.push_back(line("long_factor", s.long_factor, "pair"));
    tables.parts.push_back(line("short_factor", s.short_factor, "pair"));
    for (std::size_t i = tables.parts.size() - 2; i < tables.parts.size(); ++i) {
      tables.parts[i].aside = true;
      tables.parts[i].kept = PositionPart::Kept::kExactly;
    }
  }
}

}  // namespace

PositionTables rope_tables(const std::vector<Index>& positions, const RopeSettings& s,
                           Index max_bytes) {
  const Index half = s.rotary_dim / 2;
  const Index rows = count_of(positions);
  const RopeFrequencies made = rope_frequencies(s.rotary_dim, s.theta, s.scaling, s.seq_len);
  PositionPart cos{"cos", zeros({rows, half}, max_bytes / 2), {"position", "pair"}};
  PositionPart sin{"sin", Tensor<double>({rows, half}), {"position", "pair"}};
  for (Index r = 0; r < rows; ++r) {
    const RopeTable<double> turns(made, positions[static_cast<std::size_t>(r)], 1);
    std::copy(turns.cos.begin(), turns.cos.end(), cos.values.matrix().row(r));
    std::copy(turns.sin.begin(), turns.sin.end(), sin.values.matrix().row(r));
  }
  cos.columns = numbered("cos", half);
  sin.columns = numbered("sin", half);
  std::vector<double> waves(static_cast<std::size_t>(s.head_dim), wavelength(0));
  const bool halves = s.pairs == RopePairs::kHalves;
  for (Index i = 0; i < half; ++i) {
    for (const Index feature : {halves ? i : 2 * i, halves ? i + half : 2 * i + 1}) {
      waves[static_cast<std::size_t>(feature)] =
          wavelength(made.inv_freq[static_cast<std::size_t>(i)]);
    }
  }
  PositionTables tables{
      "rope",
      fmt::format("rope: {} positions, head dim {}{}, base {}{}", rows, s.head_dim,
                  s.rotary_dim == s.head_dim ? "" : fmt::format(" of which {} turn", s.rotary_dim),
                  s.theta,
                  s.scaling.kind == RopeScalingKind::kNone
                      ? ""
                      : fmt::format(", scaling {}", rope_scaling_name(s.scaling.kind))),
      {std::move(cos), std::move(sin), line("inv_freq", made.inv_freq, "pair"),
       line("wavelength", waves, "feature")},
      {{"head_dim", s.head_dim},
       {"rotary_dim", s.rotary_dim},
       {"theta", s.theta},
       {"convention", halves ? "half_split" : "interleaved"}},
      positions};
  tables.parts.back().aside = true;
  if (made.attention_factor != 1) {
    tables.title += fmt::format(", attention factor {:.6g}", made.attention_factor);
  }
  add_scaling(s, tables);
  return tables;
}

PositionTables alibi_tables(const AlibiSettings& s, Index max_bytes) {
  PositionPart bias{
      "bias", zeros({s.heads, s.q_len, s.kv_len}, max_bytes), {"head", "query", "key"}};
  const std::vector<double> slopes = alibi_slopes(s.heads);
  double* to = bias.values.data();
  for (const double slope : slopes) {
    for (Index i = 0; i < s.q_len; ++i) {
      for (Index j = 0; j < s.kv_len; ++j, ++to) {
        const Index past = i + s.kv_len - s.q_len - j;
        if (s.causal && past < 0) {
          *to = -std::numeric_limits<double>::infinity();
        } else if (past != 0) {  // the query itself stays 0, not -0
          *to = -slope * static_cast<double>(std::abs(past));
        }
      }
    }
  }
  const std::string lengths = s.q_len == s.kv_len
                                  ? fmt::format("{} positions", s.q_len)
                                  : fmt::format("{} queries, {} keys", s.q_len, s.kv_len);
  PositionTables tables{
      "alibi",
      fmt::format("alibi: {} heads, {}{}", s.heads, lengths, s.causal ? ", causal" : ""),
      {std::move(bias), line("slopes", slopes, "head")},
      {{"heads", s.heads}}};
  if (s.causal) tables.attributes.emplace_back("causal", Index{1});
  return tables;
}

PositionTables t5_tables(const T5Settings& s, Index max_bytes) {
  PositionPart bucket{"bucket", zeros({s.q_len, s.kv_len}, max_bytes / 2), {"query", "key"}};
  PositionPart relative{"relative_position", Tensor<double>({s.q_len, s.kv_len}), {"query", "key"}};
  bucket.kept = relative.kept = PositionPart::Kept::kWhole;
  relative.aside = true;
  for (Index i = 0; i < s.q_len; ++i) {
    for (Index j = 0; j < s.kv_len; ++j) {
      const Index offset = j - (i + s.kv_len - s.q_len);
      relative.values.matrix()(i, j) = static_cast<double>(offset);
      bucket.values.matrix()(i, j) =
          static_cast<double>(t5_bucket(offset, s.num_buckets, s.max_distance, s.bidirectional));
    }
  }
  return {
      "t5",
      fmt::format("t5 buckets: {} x {}, {} {}, up to distance {}", s.q_len, s.kv_len, s.num_buckets,
                  s.bidirectional ? "for both directions" : "for the past", s.max_distance),
      {std::move(bucket), std::move(relative)},
      {{"num_buckets", s.num_buckets},
       {"max_distance", s.max_distance},
       {"bidirectional", Index{s.bidirectional ? 1 : 0}}}};
}

PositionTables learned_tables(const Hdf5Reader& file, const std::string& dataset,
                              const std::vector<Index>& wanted, Index offset, Index max_bytes) {
  const DatasetInfo info = file.info(dataset);
  const std::string label = fmt::format("{}: {}", file.name(), escaped(dataset));
  if (info.shape.size() != 2) {
    throw DataError(fmt::format("{} wanted a table (positions, features), its shape is {}", label,
                                shape_text(info.shape)));
  }
  if (info.shape[0] == 0 || info.shape[1] == 0) {
    throw DataError(
        fmt::format("{} of shape {} holds no positions", label, shape_text(info.shape)));
  }
  std::vector<Index> positions = wanted;
  if (positions.empty()) {
    for (Index p = 0; p + offset < info.shape[0]; ++p) positions.push_back(p);
  }
  if (positions.empty()) {
    throw DataError(fmt::format("{} has {} rows, and the first position is in row {}", label,
                                info.shape[0], offset));
  }
  const Index last = *std::max_element(positions.begin(), positions.end()) + offset;
  if (last >= info.shape[0]) {
    throw DataError(fmt::format("{}: {} positions are wanted, {} has {}", file.name(), last + 1,
                                escaped(dataset), info.shape[0]));
  }
  PositionPart table{
      "table", zeros({count_of(positions), info.shape[1]}, max_bytes), {"position", "feature"}};
  for (std::size_t r = 0; r < positions.size(); ++r) {
    file.read_rows(dataset, positions[r] + offset, 1,
                   table.values.matrix().row(static_cast<Index>(r)));
  }
  PositionTables tables{
      "learned",
      fmt::format("learned positions: {} x {}{}", positions.size(), info.shape[1],
                  offset == 0 ? "" : fmt::format(", position 0 in row {}", offset)),
      {std::move(table)},
      {{"dim", info.shape[1]}},
      positions};
  if (offset != 0) tables.attributes.emplace_back("offset", offset);
  return tables;
}

}  // namespace attn
