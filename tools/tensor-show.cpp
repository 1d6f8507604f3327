// Looks into an HDF5 or NumPy file or pipe: shape, type, statistics and values of one tensor.
//
//   tensor-show model.h5 --list
//   posenc-dump --length 8 --dim 4 -o - | tensor-show -i - --dataset /table
//   tensor-show attention.h5 --dataset /weights --slice 0,2 --show

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/tool.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/npy.h"
#include "io/readable_text.h"
#include "io/table_text.h"
#include "io/tensor_file.h"
#include "io/tensor_slice.h"
#include "io/tensor_summary.h"
#include "tensor-show/list.h"
#include "tensor-show/picture.h"

namespace {

using namespace attn;

struct Options {
  std::string input;
  std::string dataset;
  std::string slice;
  std::optional<Index> rank;
  Index max_bytes = cli::kDefaultMaxBytes;
  cli::Format format = cli::Format::kText;
  bool list = false;
  bool all = false;
  bool long_form = false;
  bool require_finite = false;
  bool no_verify = false;
  bool show = false;
};

void declare(cli::OptionTable& table, Options& o) {
  table.group("Input");
  cli::input_option(table, o.input, "HDF5, .npz, .npy or text to look into, - for stdin")
      .required();
  cli::dataset_option(table, o.dataset, "which tensor; not needed where the file holds one only");
  table.text("slice", o.slice, "a part of it, as NumPy writes it: 0,:,3:5").argument("SLICE");
  cli::max_bytes_option(table, o.max_bytes);
  table.flag("no-verify", o.no_verify, "read a file whose content does not match its digest");
  table.group("Questions");
  table.flag("list", o.list, "what the file holds, instead of one tensor");
  table.count("rank", o.rank, "refuse a tensor with another number of axes").at_least(0);
  table.flag("require-finite", o.require_finite, "answer 1 if a value is NaN or infinite");
  table.group("Output");
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson,
                       cli::Format::kNpy});
  table.flag("long", o.long_form, "tsv and csv: one line 'i j k value' for each value");
  table.flag("all", o.all, "text: print a large tensor whole");
  cli::show_options(table, o.show, "draw the tensor as heat maps, a long vector as a curve");
  table.check([&table, &o] {
    if (o.list) {
      for (const char* other :
           {"dataset", "slice", "rank", "require-finite", "long", "all", "show"}) {
        if (table.given(other)) {
          throw UsageError(fmt::format("--list and --{} do not go together", other));
        }
      }
      if (o.format == cli::Format::kNpy) throw UsageError("--list cannot be written as npy");
    }
    const bool table_form = o.format == cli::Format::kTsv || o.format == cli::Format::kCsv;
    if (o.long_form && !table_form) throw UsageError("--long goes with --format tsv or csv");
  });
}

template <class T>
struct Shown {
  DatasetInfo info;
  Tensor<T> tensor;
  TensorSummary summary;
  std::optional<Shape> first_nonfinite;  // in the whole tensor, whatever the slice
};

std::string nonfinite_text(const TensorSummary& summary) {
  std::string text;
  for (const auto& [count, word] :
       {std::pair(summary.nan, "nan"), {summary.plus_inf, "inf"}, {summary.minus_inf, "-inf"}}) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), word);
  }
  return text;
}

template <class T>
std::string head_text(const Shown<T>& shown) {
  const TensorSummary& s = shown.summary;
  std::string text = escaped(shown.info.path, 4096) + "  " + shape_text(shown.info.shape);
  if (shown.tensor.shape != shown.info.shape) text += ", of it " + shape_text(shown.tensor.shape);
  text += fmt::format("  {}  {} {}\n", shown.info.type_name, grouped(s.count),
                      s.count == 1 ? "value" : "values");
  if (s.finite() > 0) {
    text += fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  std {:.6g}\n", s.min, s.max, s.mean,
                        s.deviation);
  }
  if (s.nonfinite() > 0) {
    text += fmt::format("not finite: {}, the first at {}\n", nonfinite_text(s),
                        shape_text(*shown.first_nonfinite));
  }
  return text;
}

template <class T>
std::string json_document(const Shown<T>& shown) {
  const TensorSummary& s = shown.summary;
  cli::Json head = {{"dataset", shown.info.path},
                    {"shape", shown.tensor.shape},
                    {"dtype", dtype_name(shown.info.type)}};
  const auto number = [&](double value) { return s.finite() > 0 ? cli::Json(value) : cli::Json(); };
  head["statistics"] = {{"count", s.count},
                        {"min", number(s.min)},
                        {"max", number(s.max)},
                        {"mean", number(s.mean)},
                        {"std", number(s.deviation)}};
  head["nonfinite"] = {{"nan", s.nan}, {"inf", s.plus_inf}, {"-inf", s.minus_inf}};
  head["nonfinite"]["first"] =
      shown.first_nonfinite ? cli::Json(*shown.first_nonfinite) : cli::Json();
  // The values go in as text: a document tree of them would take fifty times their size.
  std::string text = cli::json_line(head);
  text.resize(text.rfind('}'));
  return text +
         ",\"values\":" + json_values(shown.tensor.shape, std::span<const T>(shown.tensor.values)) +
         "}\n";
}

template <class T>
std::string picture_of(const Shown<T>& shown, const cli::Terminal& terminal) {
  std::vector<float> values;
  values.reserve(shown.tensor.values.size());
  for (const T value : shown.tensor.values) values.push_back(static_cast<float>(value));
  return tensor_picture(escaped(shown.info.path), shown.tensor.shape, values, terminal);
}

template <class T>
void print(const Options& o, const Shown<T>& shown, cli::Session& session) {
  cli::Report& report = session.report();
  const Shape& shape = shown.tensor.shape;
  const std::span<const T> values(shown.tensor.values);
  switch (o.format) {
    case cli::Format::kJson:
      report.write(json_document(shown));
      return;
    case cli::Format::kTsv:
    case cli::Format::kCsv: {
      TableStyle style;
      style.separator = o.format == cli::Format::kTsv ? '\t' : ',';
      style.long_form = o.long_form;
      style.title = fmt::format("{} {} {}", escaped(shown.info.path, 4096), shape_text(shape),
                                shown.info.type_name);
      report.write(table_text(shape, values, style));
      return;
    }
    case cli::Format::kNpy:
      report.write(as_text(npy_bytes(shape, values)));
      return;
    default:
      // Made first: what cannot be drawn prints nothing.
      const std::string body =
          o.show ? picture_of(shown, session.terminal())
                 : readable_text(shape, values, {.all = o.all, .whole = "--all shows all"});
      report.write(head_text(shown));
      report.write(body);
  }
}

template <class T>
int show(const Options& o, const TensorFile& file, const DatasetInfo& info, cli::Session& session) {
  const TensorSlice slice =
      o.slice.empty() ? TensorSlice(info.shape) : TensorSlice::parse(o.slice, info.shape);
  Shown<T> shown;
  shown.info = info;
  shown.tensor = o.slice.empty() ? file.read<T>(info.path) : slice.read<T>(file, info.path);
  shown.summary = summarize(shown.tensor.shape, std::span<const T>(shown.tensor.values));
  if (shown.summary.first_nonfinite) {
    shown.first_nonfinite = slice.source(*shown.summary.first_nonfinite);
  }
  print(o, shown, session);
  session.did(fmt::format("read {} {} {} of {}", escaped(info.path), shape_text(shown.tensor.shape),
                          info.type_name, file.name()));
  if (!o.require_finite || shown.summary.nonfinite() == 0) return cli::kDone;
  return session.say_no(fmt::format("{}: {} is not finite: {}, the first at {}", file.name(),
                                    escaped(info.path), nonfinite_text(shown.summary),
                                    shape_text(*shown.first_nonfinite)));
}

// In the smallest type that holds every stored number.
int show_any(const Options& o, const TensorFile& file, const DatasetInfo& info,
             cli::Session& session) {
  switch (info.type) {
    case DType::kF64:
      return show<double>(o, file, info, session);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return show<float>(o, file, info, session);
    case DType::kU64:
      return show<std::uint64_t>(o, file, info, session);
    case DType::kI64:
    case DType::kU32:
      return show<std::int64_t>(o, file, info, session);
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU16:
      return show<std::int32_t>(o, file, info, session);
    case DType::kU8:
    case DType::kBool:
      return show<std::uint8_t>(o, file, info, session);
  }
  return cli::kInternal;
}

void check_rank(const TensorFile& file, const DatasetInfo& info, Index wanted) {
  const auto rank = static_cast<Index>(info.shape.size());
  if (rank == wanted) return;
  std::vector<std::string> hints;
  if (file.has_attribute(info.path, "MATLAB_class")) {
    hints.emplace_back("it was written by MATLAB, which stores the axes in reverse order");
  }
  throw DataError(fmt::format("{}: {} has shape {}, want rank {}", file.name(), escaped(info.path),
                              shape_text(info.shape), wanted),
                  hints);
}

int run(const Options& o, cli::Session& session) {
  const TensorFile file =
      TensorFile::open(o.input, {.max_bytes = o.max_bytes, .verify_digest = !o.no_verify});
  if (o.list) {
    const FileContents contents = file.contents();
    session.report().write(list_report(contents, o.format));
    session.did(fmt::format("listed {} of {}", counted(std::ssize(contents.objects), "object"),
                            file.name()));
    return cli::kDone;
  }
  const DatasetInfo info =
      file.info(o.dataset.empty() ? file.only_dataset("--dataset NAME chooses one") : o.dataset);
  if (o.rank) check_rank(file, info, *o.rank);
  try {
    return show_any(o, file, info, session);
  } catch (const UsageError& error) {  // of a slice or a picture: what does it not fit?
    throw UsageError(fmt::format("{}: {}: {}", file.name(), escaped(info.path), error.what()),
                     error.hints());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(
      {.name = "tensor-show",
       .summary = "look into an HDF5 or NumPy file or pipe: shape, type and values of a tensor",
       .usage = "[OPTIONS] FILE",
       .examples = {{"tensor-show model.h5 --list", "what a file holds"},
                    {"posenc-dump --length 8 --dim 4 -o - | tensor-show - --dataset /table",
                     "a tensor from a pipe"},
                    {"tensor-show maps.h5 --dataset /weights --slice 0,2 --show",
                     "one head's attention as a picture"}},
       .notes = "Statistics are over the finite values. JSON has "
                "{\"shape\", \"dtype\", \"values\", \"nonfinite\"}: values nested as the shape, a "
                "scalar bare, null for NaN and infinities.",
       .meaning_of_no = "--require-finite, and a value is NaN or infinite"},
      argc, argv, declare, run);
}
