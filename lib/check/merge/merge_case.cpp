#include "check/merge/merge_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/cases/case_datasets.h"
#include "check/verdict/tolerance.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// out and lse of a file without keys. The layout is the file's or the option's; else BHSD unless
// lse, which has heads before rows in all of them, says BSHD.
void read_answer(const CaseSource& source, MergeFile& part) {
  auto out = source.find("out");
  auto lse = source.find("lse");
  CaseAttributes& attributes = part.attributes;
  if (lse) {
    while (lse->tensor.rank() < 3) lse->tensor.shape.insert(lse->tensor.shape.begin(), 1);
  }
  if (out) {
    const Shape& shape = out->tensor.shape;
    TensorLayout layout = attributes.layout.value_or(TensorLayout::kBhsd);
    const bool swapped = lse && shape.size() == 4 && shape[1] != shape[2] &&
                         lse->tensor.shape == Shape{shape[0], shape[2], shape[1]};
    if (!attributes.layout && swapped) layout = TensorLayout::kBshd;
    if (heads_are_joined(layout) && !attributes.heads) {
      source.complain("out", fmt::format("layout {} has the heads side by side: say how many "
                                         "(--heads)",
                                         layout_name(layout)));
    }
    try {
      part.recorded.out = to_bhsd(std::move(out->tensor), layout, attributes.heads.value_or(1));
    } catch (const DataError& error) {
      source.complain("out", error.what());
    }
    part.layout = layout;
    part.recorded.stored.out = out->type;
  }
  if (lse) {
    part.recorded.lse = std::move(lse->tensor);
    part.recorded.stored.lse = lse->type;
  }
  apply(attributes, part.recorded);
  if (!attributes.dtype) {
    const DType stored = part.recorded.stored.out;
    const bool half = stored == DType::kF16 || stored == DType::kBF16;
    part.recorded.problem.rules.dtype = half ? stored : DType::kF32;
  }
}

void check_lse(const MergeFile& part) {
  if (!part.recorded.lse) return;
  const Tensor<double>& lse = *part.recorded.lse;
  for (Index row = 0; row < lse.size(); ++row) {
    const double value = lse.data()[row];
    if (!std::isnan(value) && value != kInfinity) continue;
    throw DataError(
        fmt::format(
            "{}: lse: want numbers, or minus infinity where a row saw nothing, got {} at {}",
            part.name, std::isnan(value) ? "nan" : "inf",
            place_text(place_of(row, lse.shape), kAxesOfRows)),
        value == kInfinity
            ? std::vector<std::string>{"FlashAttention has plus infinity there: make it minus"}
            : std::vector<std::string>());
  }
}

}  // namespace

MergeFile read_merge_file(const TensorFile& file, const CaseAttributes& options,
                          const CaseNames& names, const ReadLimits& limits) {
  MergeFile part;
  part.name = file.name();
  part.attributes = merged(options, read_case_attributes(file));
  const CaseSource source(file, names, limits);
  part.has_keys = source.has("q") && (source.has("k") || source.has("k_pages"));
  if (part.has_keys) {
    part.recorded = read_case(file, part.attributes, names, limits);
    part.layout = part.recorded.layout;
  } else {
    if (names.empty()) refuse_unknown_datasets(file);
    read_answer(source, part);
  }
  check_lse(part);
  return part;
}

void require_parts(const std::vector<MergeFile>& parts) {
  const MergeFile& first = parts.front();
  for (const MergeFile& part : parts) {
    const auto lacks = [&part](const char* name, const char* what) {
      throw DataError(fmt::format("{}: {}: is needed to merge: {}", part.name, name, what));
    };
    if (!part.recorded.out) lacks("out", "what attention over these keys gave");
    if (!part.recorded.lse) {
      lacks("lse", "the natural logarithm of the sum of exp(score), a number for each row");
    }
    const Shape& out = part.recorded.out->shape;
    if (out != first.recorded.out->shape) {
      throw DataError(fmt::format("{}: out: want {} as in {}, got {}", part.name,
                                  shape_text(first.recorded.out->shape), first.name,
                                  shape_text(out)));
    }
    const Shape want = {out[0], out[1], out[2]};
    if (part.recorded.lse->shape == want) continue;
    throw DataError(fmt::format("{}: lse: want (batch, heads, q_len) = {}, got {}", part.name,
                                shape_text(want), shape_text(part.recorded.lse->shape)),
                    {"lse has heads before rows whatever the layout of out"});
  }
}

}  // namespace attn
