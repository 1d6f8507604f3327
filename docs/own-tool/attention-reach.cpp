// How far back does each head look? Keys that a window must hold to keep a share of its weight.
//
//   tinygpt-generate model.h5 --prompt "3 5" --new-tokens 8 -q --dump-attention maps.h5
//   attention-reach maps.h5 --keep 0.9

#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/table.h"
#include "cli/tool.h"
#include "core/error.h"
#include "io/tensor_file.h"

namespace {

using namespace attn;

struct Options {
  std::string input;
  double keep = 0.9;
};

void declare(cli::OptionTable& table, Options& o) {
  cli::input_option(table, o.input, "maps of --dump-attention, - for stdin").required();
  table.real("keep", o.keep, "share of the weight that the window must keep").above(0).at_most(1);
}

// Of one map (query, key): the fewest keys, the query's own and those before it, that hold the
// share on average over its rows.
Index reach(const double* map, Index rows, double keep) {
  std::vector<double> within(static_cast<std::size_t>(rows));  // weight at each distance
  for (Index row = 0; row < rows; ++row) {
    for (Index key = 0; key <= row; ++key) {
      within[static_cast<std::size_t>(row - key)] += map[row * rows + key];
    }
  }
  constexpr double kRounding = 1e-6;  // the maps are f32
  double held = 0;
  for (Index keys = 1; keys <= rows; ++keys) {
    held += within[static_cast<std::size_t>(keys - 1)] / static_cast<double>(rows);
    if (held >= keep - kRounding) return keys;
  }
  return rows;
}

int run(const Options& o, cli::Session& session) {
  const Tensor<double> maps = TensorFile::open(o.input).read<double>("/attention");
  if (maps.rank() != 4 || maps.dim(2) != maps.dim(3)) {
    throw DataError(o.input + ": /attention is not (block, head, token, token)");
  }
  cli::Table table({{"block"}, {"head"}, {"keys"}});
  for (Index i = 0; i < maps.dim(0) * maps.dim(1); ++i) {
    const Index keys = reach(maps.data() + i * maps.dim(2) * maps.dim(3), maps.dim(2), o.keep);
    table.add({fmt::format("{}", i / maps.dim(1)), fmt::format("{}", i % maps.dim(1)),
               fmt::format("{}", keys)});
  }
  session.report().write(table.text());
  session.did(fmt::format("measured {} heads of {}", maps.dim(0) * maps.dim(1), o.input));
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>({.name = "attention-reach",
                                  .summary = "how far back each head of a model looks",
                                  .usage = "[OPTIONS] FILE",
                                  .examples = {{"attention-reach maps.h5 --keep 0.9"}}},
                                 argc, argv, declare, run);
}
