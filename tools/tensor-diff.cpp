// Compares two files of tensors, or two tensors.
//
//   tensor-diff mine.h5 theirs.npz --rtol 1e-5 --atol 1e-6
//   tensor-diff a.h5:/out b.npy --equal-before 5 --axis 2
//   tensor-diff a.h5:/weights b.h5:/weights --atol 1e-6 --show

#include <fmt/core.h>

#include <string>

#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "tensor-diff/compare.h"
#include "tensor-diff/report.h"

namespace {

using namespace attn;

void declare(cli::OptionTable& table, DiffOptions& o) {
  table.group("What to compare");
  table.text("first", o.first, "a file, FILE:/dataset or FILE:/group, - for stdin; the measure")
      .argument("A")
      .operand()
      .required();
  table.text("second", o.second, "what to compare it with, in the same forms")
      .argument("B")
      .operand()
      .required();
  table.text("map", o.map, "tsv of a name in A and its name in B; only these are compared")
      .argument("FILE");
  cli::max_bytes_option(table, o.max_bytes);
  table.group("What counts as equal");
  table.real("rtol", o.settings.rtol, "|a - b| <= atol + rtol * |a|").at_least(0.0);
  table.real("atol", o.settings.atol, "the part that does not grow with a").at_least(0.0);
  table.flag("nan-equal", o.settings.nan_equal, "a NaN equals a NaN");
  table.flag("any-type", o.settings.any_type, "the same numbers in another type are equal");
  table
      .count("equal-before", o.settings.equal_before,
             "only indices below K along the axis count: rows before a change")
      .at_least(0)
      .argument("K");
  table.count("axis", o.settings.axis, "the axis of --equal-before; -1 is the last").at_least(-8);
  table.group("Report");
  cli::format_options(table, o.format, {cli::Format::kText, cli::Format::kTsv, cli::Format::kJson});
  cli::show_options(table, o.show,
                    "draw where the first tensor that differs does, as heat maps of |a - b|");
  table.check([&table, &o] {
    if (o.first == "-" && o.second == "-") throw UsageError("stdin can be read once: both are -");
    if (table.given("axis") && !table.given("equal-before")) {
      throw UsageError("--axis needs --equal-before");
    }
  });
}

int run(const DiffOptions& o, cli::Session& session) {
  const std::vector<ComparedPair> pairs = compare_files(o);
  print_pairs(o, pairs, session);
  const ComparedPair* first = first_deviation(pairs);
  session.did(
      fmt::format("compared {}: no difference that counts", counted(std::ssize(pairs), "tensor")));
  if (first == nullptr) return cli::kDone;
  return session.say_no("first difference: " + deviation_text(*first));
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<DiffOptions>(
      {.name = "tensor-diff",
       .summary = "compare the tensors of two files, in order, and name the first that differs",
       .usage = "[OPTIONS] A B",
       .examples = {{"tensor-diff mine.h5 theirs.npz --rtol 1e-5", "all tensors of both"},
                    {"tensor-diff mine.h5:/out theirs.npy", "one with one"},
                    {"tensor-diff a.h5:/parameters b.h5:/parameters --map names.tsv",
                     "groups, with names that differ"},
                    {"tensor-diff a.h5:/weights b.h5:/weights --atol 1e-6 --show",
                     "where they differ, as a picture"},
                    {"tensor-diff before.h5:/out after.h5:/out --equal-before 5",
                     "rows 0 to 4 must not have changed"}},
       .notes =
           "Reads HDF5, .npz, .npy and text files of numbers. Names go in the order of an archive, "
           "or "
           "of computation where the words in them tell it. Where both sides hold one tensor alone "
           "those are compared, whatever they are called: the report names both, /x = /y. Else a "
           "dataset that is missing on one side is a difference, as are another shape and type. "
           "Where tensors differ, simple relations are told: axes swapped, a constant factor or "
           "shift, rounded to bf16 or f16, features paired as "
           "halves or interleaved.",
       .meaning_of_no = "the tensors differ"},
      argc, argv, declare, run);
}
