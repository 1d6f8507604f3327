// Builds a file of tensors in the shell.
//
//   tensor-make q=q.npy k=k.tsv v='1 0; 0 1' @causal=1 @layout=BHSD -o - | attn-check -i -
//   tensor-make case.h5 out=out.npy -o finished.h5

#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"
#include "io/tensor_set.h"
#include "tensor-make/items.h"

namespace {

using namespace attn;

struct Options {
  std::vector<std::string> items;
  std::string output;
  bool npz = false;
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare(cli::OptionTable& table, Options& o) {
  table.group("Input and output");
  table.texts("tensor", o.items, "NAME=TENSOR, @NAME=VALUE, NAME@NAME=VALUE or a FILE")
      .argument("ITEM")
      .operand()
      .takes_operands()
      .required();
  cli::output_option(table, o.output, "file to write, - for stdout").required();
  table.flag("npz", o.npz, "write a NumPy archive instead of HDF5");
  cli::max_bytes_option(table, o.max_bytes);
}

void print(const TensorSet& set, cli::Report& report) {
  for (const StoredTensor& tensor : set.tensors()) {
    report.print("{}  {} {}\n", escaped(tensor.path, 4096), shape_text(tensor.shape),
                 dtype_name(tensor.type));
  }
}

int run(const Options& o, cli::Session& session) {
  const std::vector<TensorItem> items = parse_items(o.items);
  check_output(o.output, files_of(items));
  TensorSet set;
  std::vector<std::string> left_out;
  Provenance provenance;
  provenance.command = history_of(items);
  for (const TensorItem& item : items) {
    const std::string earlier = add_item(item, {.max_bytes = o.max_bytes}, set, left_out);
    if (!earlier.empty()) provenance.earlier_history = earlier;
  }
  for (const std::string& object : left_out) {
    session.warn(fmt::format("{} is left out: neither numbers nor one value", escaped(object)));
  }
  if (o.npz) {
    const std::vector<std::byte> archive = set.npz();
    write_output(o.output, archive);
  } else {
    Hdf5Writer writer;
    write_provenance(writer, provenance);
    set.write(writer);
    write_output(o.output, writer.finish());
  }
  session.did(fmt::format("made {}", counted(std::ssize(set.tensors()), "tensor")));
  if (session.report().wanted()) print(set, session.report());
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(
      {.name = "tensor-make",
       .summary = "build a file of tensors from arrays, tables, numbers and other files",
       .usage = "[OPTIONS] ITEM... -o FILE",
       .examples =
           {{"tensor-make q=q.npy k=k.tsv v='1 0; 0 1' @causal=1 -o - | attn-check -i -",
             "a case for attn-check from what there is"},
            {"tensor-make case.h5 out=out.npy -o finished.h5",
             "everything in a file, and one tensor more"},
            {"tensor-make x:f16:1x2x3='1 2 3 4 5 6' -o x.h5", "of a type and shape"},
            {"tensor-make probe/k=dump.npz:/key probe/k@unit=raw -o - | tensor-show --list -",
             "in a group, with an attribute"}},
       .notes =
           "NAME=TENSOR: a .npy, tsv, csv or text file, FILE:/dataset of HDF5 or .npz, - for "
           "stdin, "
           "or numbers, rows apart by ';'. NAME:TYPE:SHAPE= stores as f64, f32, f16, bf16, i64 ... "
           "u8 and shapes as 1x2x3; either may be left out.\n\n"
           "@NAME=VALUE is an attribute of the file, PATH@NAME=VALUE of a dataset or group: a "
           "whole "
           "number, a number or text, as it looks; @NAME:text= (int, real) says which. true and "
           "false are 1 and 0.\n\n"
           "A FILE alone gives all it holds. What comes later replaces what a FILE gave."},
      argc, argv, declare, run);
}
