// posenc-dump: tables of positions, as numbers or as pictures; other people's tables checked.
//   posenc-dump --length 50 --dim 64 --show
//   posenc-dump --kind rope --length 128 --config config.json -o rope.h5
//   posenc-dump --check rope.h5
//   posenc-dump --kind rope --apply case.h5 -o - | attn-check -i -

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/tool.h"
#include "io/hdf5_version.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"
#include "model/position_similarity.h"
#include "posenc-dump/apply.h"
#include "posenc-dump/check.h"
#include "posenc-dump/options.h"
#include "posenc-dump/report.h"
#include "posenc-dump/tables.h"

namespace {

using namespace attn;

// Puts the dot products in front of the tables; returns how far they depend on more than distance.
double add_similarity(PositionTables& tables, Index max_bytes) {
  RopePairs pairs = RopePairs::kHalves;
  for (const auto& [name, value] : tables.attributes) {
    if (name == "convention" && value == PositionAttribute("interleaved")) {
      pairs = RopePairs::kInterleaved;
    }
  }
  PositionSimilarity found = tables.kind == "rope" ? rope_similarity(tables, pairs, max_bytes)
                                                   : table_similarity(tables, max_bytes);
  tables.parts.insert(tables.parts.begin(),
                      {"similarity", std::move(found.products), {"position", "position"}});
  return found.deviation;
}

int run(const PosencOptions& options, cli::Session& session) {
  PosencOptions o = options;
  if (!o.explain.empty()) return run_explain(o, session);
  if (!session.given("kind")) {
    if (!o.input.empty()) o.kind = PositionKind::kLearned;
    if (!o.apply.empty()) o.kind = PositionKind::kRope;
  }
  check_kind_options(o, session);
  if (!o.check.empty()) return run_check(o, session);
  if (!o.apply.empty()) return run_apply(o, session);
  Provenance provenance;
  provenance.command = session.history();
  PositionTables tables = make_tables(o, session, provenance);
  std::optional<double> deviation;
  if (o.similarity) deviation = add_similarity(tables, o.max_bytes);
  // The file first: where it cannot be written, nothing is reported. A wrong --table is seen
  // before.
  const PositionPart part = chosen_part(o, tables);
  if (!o.output.empty()) {
    Hdf5Writer writer;
    write_position_tables(writer, tables);
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  session.did("made " + tables.title);
  if (session.report().wanted()) print_tables(o, tables, part, deviation, session);
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<PosencOptions>(
      {.name = "posenc-dump",
       .summary = "tables of positions: sinusoidal, learned, rope, alibi, t5; and their check",
       .usage = "[OPTIONS] [CHECKPOINT]",
       .examples = {{"posenc-dump --length 50 --dim 64 --show", "fast stripes left, slow right"},
                    {"posenc-dump --kind rope --length 128 --config config.json -o rope.h5",
                     "cos, sin and frequencies of a model"},
                    {"posenc-dump --kind alibi --length 8 --heads 8 --json", ""},
                    {"posenc-dump -i model.h5 --format tsv", "the learned table of a checkpoint"},
                    {"posenc-dump --check rope.h5", "is it right, and if not, what is wrong"},
                    {"posenc-dump --kind rope --apply case.h5 -o - | attn-check -i -",
                     "rotates /q and /k on the way"},
                    {"posenc-dump --kind rope --length 64 --dim 64 --similarity --show", ""}},
       .notes =
           "A file that --check reads has the attributes and datasets that -o writes: kind, and "
           "those of the kind. Tables, cosines and sines may be off by 1e-6 + 2^-22 of the "
           "largest phase, frequencies, slopes and biases by 1e-6 of themselves, a rotated y by "
           "2 max |x| times its cosines' bound, buckets by nothing; types coarser than f32 by "
           "their rounding on top. What the file does not say is assumed, and printed.\n\n"
           "--apply leaves every other dataset and attribute of the file as it is, and stored "
           "types too.",
       .meaning_of_no = "--check found a difference",
       .versions = [] { return std::vector<std::string>{hdf5_version()}; }},
      argc, argv, declare, run);
}
