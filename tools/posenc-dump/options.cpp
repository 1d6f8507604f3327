#include "posenc-dump/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "check/verdict/explanations.h"
#include "core/error.h"

namespace attn {
namespace {

template <class T>
using Words = std::vector<std::pair<std::string, T>>;

void declare_scaling(cli::OptionTable& table, PosencOptions& o) {
  Words<RopeScalingKind> kinds;
  for (int kind = 0; kind <= static_cast<int>(RopeScalingKind::kLongrope); ++kind) {
    const auto each = static_cast<RopeScalingKind>(kind);
    kinds.emplace_back(rope_scaling_name(each), each);
  }
  RopeScaling& s = o.scaling;
  table.group("Rope (what is typed wins over --config)");
  table.choice("rope-style", o.rope_style,
               Words<RopePairs>{{"half_split", RopePairs::kHalves},
                                {"interleaved", RopePairs::kInterleaved}},
               "which features are paired: (i, i + rotary_dim/2) or (2i, 2i + 1)");
  table.count("rotary-dim", o.rotary_dim, "features of a head that turn, its first ones")
      .default_is("dim");
  table.input("config", o.config, "config.json to take base, widths and scaling from");
  table.text("layer-type", o.layer_type, "which of --config's layers, where they differ")
      .argument("NAME");
  table.choice("scaling", s.kind, std::move(kinds), "how frequencies are stretched");
  table.real("factor", s.factor, "how many times").above(0);
  table
      .count("original-max-position-embeddings", s.original_max_positions,
             "length of training: dynamic, yarn, llama3, longrope")
      .default_is("none");
  table.count("seq-len", o.seq_len, "length of the sequence: dynamic, longrope")
      .default_is("the last position + 1");
  table.real("beta-fast", s.beta_fast, "yarn: rotations from which on nothing changes").above(0);
  table.real("beta-slow", s.beta_slow, "yarn: rotations up to which all is stretched").above(0);
  table.choice("truncate", s.truncate, Words<bool>{{"1", true}, {"0", false}},
               "yarn: the ramp's ends are whole pairs");
  table.real("attention-factor", s.attention_factor, "yarn, longrope: for the derived one")
      .above(0);
  table.real("mscale", s.mscale, "yarn: with mscale-all-dim, for the attention factor");
  table.real("mscale-all-dim", s.mscale_all_dim, "yarn: what mscale is divided by");
  table.real("low-freq-factor", s.low_freq_factor, "llama3: longer waves are stretched").above(0);
  table.real("high-freq-factor", s.high_freq_factor, "llama3: shorter waves stay").above(0);
  table.reals("long-factor", s.long_factor, "longrope: one a pair, beyond the original length")
      .argument("LIST");
  table.reals("short-factor", s.short_factor, "longrope: one a pair, within it").argument("LIST");
}

void declare_kinds(cli::OptionTable& table, PosencOptions& o) {
  table.group("Positions");
  table.choice("kind", o.kind,
               Words<PositionKind>{{"sinusoidal", PositionKind::kSinusoidal},
                                   {"learned", PositionKind::kLearned},
                                   {"rope", PositionKind::kRope},
                                   {"alibi", PositionKind::kAlibi},
                                   {"t5", PositionKind::kT5}},
               "what marks a position; learned where there is an input");
  table.count("length", o.length, "positions, or queries of alibi and t5")
      .letter('n')
      .at_most(2147483647);
  table.text("positions", o.positions, "which ones: 0-49, 5,7,900 or FILE:/dataset")
      .argument("LIST");
  table.count("offset", o.offset, "the first position, as when decoding").at_least(0);
  table.count("dim", o.dim, "features of a row; of one head for rope").letter('d');
  table.real("base", o.base, "longest wavelength / 2 pi, of sinusoidal; theta of rope").above(0);
  table.group("Sinusoidal");
  table.choice("convention", o.form.concatenated,
               Words<bool>{{"interleaved", false}, {"concatenated", true}},
               "sines and cosines in turn, or all sines first");
  table.choice("variant", o.form.tensor2tensor,
               Words<bool>{{"vaswani", false}, {"tensor2tensor", true}},
               "exponents 2i/dim or i/(dim/2 - 1)");
  table.choice("odd", o.odd, Words<OddDim>{{"refuse", OddDim::kRefuse}, {"ceil", OddDim::kCeil}},
               "an odd dim: an error, or one sine more than cosines");
  declare_scaling(table, o);
  table.group("ALiBi and T5");
  table.count("heads", o.heads, "query heads, of alibi").at_most(65536);
  table.count("keys", o.keys, "keys; the last query stands at the last one").default_is("length");
  table.flag("causal", o.causal, "alibi: -inf for later keys; t5: buckets of the past alone");
  table.count("num-buckets", o.num_buckets, "buckets, of t5").at_most(1 << 20);
  table.count("max-distance", o.max_distance, "t5: from here on all share the last bucket");
}

void declare_input(cli::OptionTable& table, PosencOptions& o) {
  table.group("Learned");
  cli::input_option(table, o.input, "checkpoint to take the table from, - for stdin");
  cli::dataset_option(table, o.dataset, "where the table is");
  table.text("row-offset", o.row_offset, "row of position 0: a number, or bart (2), or roberta")
      .argument("N");
  table.count("padding-idx", o.padding_idx, "roberta: token of padding; its row comes before")
      .at_least(0);
  table.text("tokens", o.tokens, "roberta: ids; padding among them takes no position")
      .argument("LIST");
  cli::max_bytes_option(table, o.max_bytes);
  table.group("Instead of making a table");
  table.text("check", o.check, "hold a table to its formula and name the mistake").argument("FILE");
  table.input("apply", o.apply, "rope: rotate /q and /k of a case, keep all else");
  table.text("key-positions", o.key_positions, "positions of /k, as --positions").argument("LIST");
  table.count("key-offset", o.key_offset, "the first position of /k")
      .at_least(0)
      .default_is("offset where there are as many keys as queries, else 0");
  table.text("explain", o.explain, "tell about a mistake by its name")
      .argument("NAME")
      .completes_from(mistake_names)
      .not_data();
}

void declare_output(cli::OptionTable& table, PosencOptions& o) {
  table.group("Output");
  table.flag("similarity", o.similarity, "dot products between positions instead of the table");
  cli::output_option(table, o.output);
  table.choice(
      "dtype", o.dtype,
      Words<DType>{
          {"f32", DType::kF32}, {"f64", DType::kF64}, {"f16", DType::kF16}, {"bf16", DType::kBF16}},
      "what numbers are rounded to; they are computed in f64");
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson,
                       cli::Format::kNpy});
  table
      .text("table", o.table,
            "which one is written as text or npy: table; cos_sin, cos, sin of rope; inv_freq, "
            "wavelength; bias, slopes; bucket, relative_position; similarity")
      .argument("NAME")
      .completes({"table", "cos_sin", "cos", "sin", "inv_freq", "wavelength", "bias", "slopes",
                  "bucket", "relative_position", "similarity"})
      .not_data();
  table.flag("long", o.long_form, "tsv and csv: a line 'i j value' for each number").not_data();
  cli::show_options(table, o.show, "a heat map and some columns as curves");
}

}  // namespace

void declare(cli::OptionTable& table, PosencOptions& o) {
  declare_kinds(table, o);
  declare_input(table, o);
  declare_output(table, o);
  table.check([&o, &table] {
    const bool rows = o.format == cli::Format::kTsv || o.format == cli::Format::kCsv;
    if (o.long_form && !rows) throw UsageError("--long goes with --format tsv or csv");
    if (!o.table.empty() && !rows && o.format != cli::Format::kNpy) {
      throw UsageError("--table chooses what --format tsv, csv or npy writes");
    }
    const int modes =
        (o.check.empty() ? 0 : 1) + (o.apply.empty() ? 0 : 1) + (o.explain.empty() ? 0 : 1);
    if (modes > 1) throw UsageError("one of --check, --apply and --explain at a time");
    if (modes > 0 && o.similarity) throw UsageError("--similarity goes with a table of its own");
    if (!o.positions.empty() && (o.length || table.given("offset"))) {
      throw UsageError("--positions says what --length and --offset say");
    }
    if (o.apply.empty() && (!o.key_positions.empty() || o.key_offset)) {
      throw UsageError("--key-positions and --key-offset go with --apply");
    }
    if (!o.key_positions.empty() && o.key_offset) {
      throw UsageError("--key-positions says what --key-offset says");
    }
    if (!o.check.empty() && (o.show || o.format == cli::Format::kNpy || !o.output.empty())) {
      throw UsageError("--check gives a verdict: text, tsv, csv or json");
    }
    if (!o.apply.empty()) {
      if (o.output.empty()) throw UsageError("--output is missing: where the rotated case goes");
      if (o.show || o.format != cli::Format::kText) {
        throw UsageError("--apply writes a case file and reports in text");
      }
      if (o.length) throw UsageError("--apply rotates all rows: --length is not for it");
    }
  });
}

std::string_view position_kind_name(PositionKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"sinusoidal", "learned", "rope", "alibi",
                                                      "t5"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

using enum PositionKind;

void only_for(const PosencOptions& o, const cli::Session& session, const char* option,
              const std::vector<PositionKind>& kinds) {
  if (!session.given(option) || std::count(kinds.begin(), kinds.end(), o.kind) > 0) return;
  std::vector<std::string_view> names;
  names.reserve(kinds.size());
  for (const PositionKind kind : kinds) names.push_back(position_kind_name(kind));
  throw UsageError(fmt::format("--{} is for {} and not for {}", option, fmt::join(names, " and "),
                               position_kind_name(o.kind)));
}

void check_even(const PosencOptions& o, Index dim) {
  if (dim % 2 == 0 || (o.kind == kSinusoidal && o.odd == OddDim::kCeil)) return;
  std::vector<std::string> hints;
  if (o.kind == kSinusoidal) {
    hints.push_back(
        fmt::format("--odd ceil makes {} sines and {} cosines", (dim + 1) / 2, dim / 2));
  } else if (!o.rotary_dim) {
    hints.emplace_back("--rotary-dim turns an even part of a head");
  }
  throw UsageError(fmt::format("dim must be even, got {}", dim), hints);
}

}  // namespace

void check_kind_options(const PosencOptions& o, const cli::Session& session) {
  only_for(o, session, "base", {kSinusoidal, kRope});
  only_for(o, session, "dim", {kSinusoidal, kRope, kLearned});
  for (const char* option : {"positions", "offset"}) {
    only_for(o, session, option, {kSinusoidal, kRope, kLearned});
  }
  for (const char* option : {"convention", "variant", "odd"}) {
    only_for(o, session, option, {kSinusoidal});
  }
  for (const char* option :
       {"rope-style", "rotary-dim", "config", "layer-type", "scaling", "factor",
        "original-max-position-embeddings", "seq-len", "beta-fast", "beta-slow", "truncate",
        "attention-factor", "mscale", "mscale-all-dim", "low-freq-factor", "high-freq-factor",
        "long-factor", "short-factor", "apply"}) {
    only_for(o, session, option, {kRope});
  }
  only_for(o, session, "heads", {kAlibi});
  for (const char* option : {"keys", "causal"}) only_for(o, session, option, {kAlibi, kT5});
  for (const char* option : {"num-buckets", "max-distance"}) only_for(o, session, option, {kT5});
  for (const char* option : {"input", "dataset", "row-offset", "padding-idx", "tokens"}) {
    only_for(o, session, option, {kLearned});
  }
  only_for(o, session, "similarity", {kSinusoidal, kRope, kLearned});
  if (session.given("layer-type") && o.config.empty()) {
    throw UsageError("--layer-type chooses among the layers of --config");
  }
  if (!o.check.empty()) return;
  if (o.kind == kRope && o.config.empty() && !session.given("scaling")) {
    for (const char* option :
         {"factor", "original-max-position-embeddings", "seq-len", "beta-fast", "beta-slow",
          "truncate", "attention-factor", "mscale", "mscale-all-dim", "low-freq-factor",
          "high-freq-factor", "long-factor", "short-factor"}) {
      if (session.given(option)) throw UsageError(fmt::format("--{} needs --scaling", option));
    }
  }
  if (!o.apply.empty()) return;
  if (o.kind == kLearned) {
    if (o.input.empty()) throw UsageError("--input is missing: whose learned table");
    return;
  }
  if (!o.length && o.positions.empty()) {
    throw UsageError("--length is missing: how many positions");
  }
  if (o.kind == kAlibi || o.kind == kT5) return;
  if (!o.dim && o.config.empty()) throw UsageError("--dim is missing: how many features");
  if (o.dim && !(o.kind == kRope && o.rotary_dim)) check_even(o, *o.dim);
}

}  // namespace attn
