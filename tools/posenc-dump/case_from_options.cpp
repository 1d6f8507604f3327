#include "posenc-dump/case_from_options.h"

#include <fmt/core.h>

#include <filesystem>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_reader.h"
#include "io/tensor_argument.h"
#include "posenc-dump/tables.h"

namespace attn {
namespace {

// Options that say what a table is; a case file says that itself.
constexpr std::initializer_list<const char*> kRules = {"kind",
                                                       "dim",
                                                       "base",
                                                       "convention",
                                                       "variant",
                                                       "rope-style",
                                                       "rotary-dim",
                                                       "config",
                                                       "scaling",
                                                       "factor",
                                                       "heads",
                                                       "keys",
                                                       "num-buckets",
                                                       "max-distance",
                                                       "causal",
                                                       "positions",
                                                       "length",
                                                       "offset",
                                                       "seq-len",
                                                       "beta-fast",
                                                       "beta-slow",
                                                       "truncate",
                                                       "mscale",
                                                       "mscale-all-dim",
                                                       "layer-type",
                                                       "attention-factor",
                                                       "low-freq-factor",
                                                       "high-freq-factor",
                                                       "long-factor",
                                                       "short-factor",
                                                       "original-max-position-embeddings"};

bool is_case_file(const std::string& value) {
  std::error_code ignored;
  if (value == "-") return true;
  const std::filesystem::path path(value);
  const std::string ending = path.extension().string();
  // Whoever names such a file and has none is not told about numbers.
  if (!std::filesystem::exists(path, ignored))
    return ending == ".h5" || ending == ".npz" || value.find('/') != std::string::npos;
  return ending != ".tsv" && ending != ".csv" && ending != ".txt" && ending != ".npy";
}

void require_axes(const Tensor<double>& values, Index rank, const char* what) {
  if (values.rank() == rank) return;
  throw DataError(fmt::format("--check: {} {}, its shape is {}", what,
                              rank == 1 ? "are one row of numbers" : "has two axes",
                              shape_text(values.shape)));
}

std::vector<double> rows_of(const PosencOptions& o, Index rows) {
  const std::vector<Index> positions =
      o.positions.empty() ? positions_from(o.offset, rows)
                          : positions_from(o.positions, "--positions", o.max_bytes);
  if (static_cast<Index>(positions.size()) != rows) {
    throw UsageError(fmt::format("--check: {} rows for {} positions", rows, positions.size()));
  }
  return {positions.begin(), positions.end()};
}

PosencCase typed_case(const PosencOptions& o, const cli::Session& session) {
  Tensor<double> values = tensor_argument(o.check, "--check", {.max_bytes = o.max_bytes});
  PosencCase c;
  const char* part = "table";
  switch (o.kind) {
    case PositionKind::kLearned:
      throw UsageError("--check: a learned table has no formula to be checked against");
    case PositionKind::kSinusoidal:
      if (values.rank() == 1) values.shape.insert(values.shape.begin(), 1);
      require_axes(values, 2, "a table");
      c.kind = PosencKind::kSinusoidal;
      c.sinusoidal = {values.dim(1), o.base, o.form.concatenated, o.form.tensor2tensor};
      c.positions = rows_of(o, values.dim(0));
      break;
    case PositionKind::kRope: {
      require_axes(values, 1, "inverse frequencies");
      PosencOptions widths = o;
      if (!o.dim && o.config.empty()) widths.dim = o.rotary_dim.value_or(2 * values.size());
      const RopeSettings settings = rope_settings(widths, session, 0);
      c.kind = PosencKind::kRope;
      c.rope = {settings.head_dim, settings.rotary_dim, settings.theta,
                settings.pairs,    settings.scaling,    settings.seq_len};
      c.positions = {0};
      part = "inv_freq";
      break;
    }
    case PositionKind::kAlibi:
      require_axes(values, 1, "slopes");
      c.kind = PosencKind::kAlibi;
      c.alibi.heads = values.size();
      part = "slopes";
      break;
    case PositionKind::kT5: {
      if (values.rank() == 1) values.shape.insert(values.shape.begin(), 1);
      require_axes(values, 2, "buckets");
      c.kind = PosencKind::kT5;
      c.t5 = {o.num_buckets, o.max_distance, !o.causal};
      c.relative =
          t5_tables({values.dim(0), values.dim(1), o.num_buckets, o.max_distance, !o.causal},
                    o.max_bytes)
              .parts.back()
              .values;
      part = "bucket";
      break;
    }
  }
  c.parts.push_back({part, std::move(values), o.dtype});
  return c;
}

}  // namespace

NamedCase case_from_options(const PosencOptions& o, const cli::Session& session) {
  if (!is_case_file(o.check)) return {"numbers", typed_case(o, session)};
  for (const char* option : kRules) {
    if (session.given(option)) {
      throw UsageError(fmt::format("--check: the file says what it is, --{} is not asked", option));
    }
  }
  const Hdf5Reader file = Hdf5Reader::open(o.check, {.max_bytes = o.max_bytes});
  return {file.name(), read_posenc_case(file)};
}

}  // namespace attn
