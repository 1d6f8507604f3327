#include "check/cases/stored_case.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "check/cases/case_datasets.h"
#include "check/cases/case_file.h"

namespace attn {

namespace {

// Elements from one sequence, head and row to the next.
struct Strides {
  Index batch, head, row;
};

Strides strides_of(const Shape& shape, TensorLayout layout) {
  const Index batch = shape[0];
  const Index heads = shape[1];
  const Index rows = shape[2];
  const Index columns = shape[3];
  switch (layout) {
    case TensorLayout::kBhsd:
      break;
    case TensorLayout::kBshd:
    case TensorLayout::kBnd:
      return {rows * heads * columns, columns, heads * columns};
    case TensorLayout::kNbd:
      return {heads * columns, columns, batch * heads * columns};
  }
  return {heads * rows * columns, rows * columns, columns};
}

}  // namespace

StoredCase::StoredCase(TensorFile file, std::map<std::string, std::string> paths,
                       AttentionCase outline)
    : file_(std::move(file)), paths_(std::move(paths)), outline_(std::move(outline)) {}

std::unique_ptr<StoredCase> StoredCase::open(TensorFile& file, const CaseAttributes& attributes,
                                             const CaseNames& names, const ReadLimits& limits,
                                             Index least_numbers) {
  const Hdf5Reader* reader = file.hdf5();
  if (reader == nullptr) return nullptr;
  CaseSource source(file, names, limits);
  if (source.has("dout")) return nullptr;
  std::map<std::string, std::string> paths;
  Index numbers = 0;
  for (const std::string& name : large_case_datasets()) {
    if (!source.has(name)) continue;
    // Its numbers say what kind it is where nobody does.
    if (name == "mask" && !attributes.mask_type) continue;
    const auto path = source.in_file(name);
    if (!path || !reader->in_one_piece(*path)) return nullptr;
    paths[name] = *path;
    numbers += reader->info(*path).size;
  }
  if (numbers < least_numbers || paths.count("q") == 0 || paths.count("k") == 0 ||
      paths.count("v") == 0) {
    return nullptr;
  }
  std::vector<std::string> left;
  for (const auto& [name, path] : paths) left.push_back(name);
  source.leave_in_file(left);
  if (names.empty()) refuse_unknown_datasets(file);
  AttentionCase outline = assemble_case(source, attributes);
  return std::unique_ptr<StoredCase>(
      new StoredCase(std::move(file), std::move(paths), std::move(outline)));
}

Tensor<double> StoredCase::box(const std::string& name, const Shape& shape, TensorLayout layout,
                               const Shape& first, const Shape& extents) const {
  Tensor<double> result(extents);
  if (result.values.empty()) return result;
  const Strides strides = strides_of(shape, layout);
  const std::string& path = paths_.at(name);
  double* to = result.data();
  for (Index b = 0; b < extents[0]; ++b) {
    for (Index h = 0; h < extents[1]; ++h) {
      const Index at = (first[0] + b) * strides.batch + (first[1] + h) * strides.head +
                       first[2] * strides.row + first[3];
      file_.hdf5()->read_runs(path, at, extents[3], strides.row, extents[2], to);
      to += extents[2] * extents[3];
    }
  }
  return result;
}

AttentionCase StoredCase::part(const CasePart& part) const {
  const AttentionProblem& whole = outline_.problem;
  const TensorLayout layout = outline_.layout;
  const Index group = whole.heads() / whole.kv_heads();
  AttentionCase result = rules_of_part(outline_, part);
  AttentionProblem& problem = result.problem;
  const auto rows = [&](const std::string& name, const Shape& shape, TensorLayout order,
                        Index first_column, Index columns) {
    return box(name, shape, order, {part.batch, part.kv_head * group, part.row, first_column},
               {part.batches, part.kv_heads * group, part.rows, columns});
  };
  const auto keys = [&](const std::string& name, const Shape& shape) {
    return box(name, shape, layout, {part.batch, part.kv_head, part.key, 0},
               {part.batches, part.kv_heads, part.keys, shape[3]});
  };
  problem.q = rows("q", whole.q.shape, layout, 0, whole.head_dim());
  problem.k = keys("k", whole.k.shape);
  problem.v = keys("v", whole.v.shape);
  if (whole.mask) {
    const MaskPart mask = mask_part(*whole.mask, part, group);
    problem.mask = paths_.count("mask") == 0 ? box_of(*whole.mask, mask.first, mask.extents)
                                             : box("mask", whole.mask->shape, TensorLayout::kBhsd,
                                                   mask.first, mask.extents);
    validate(problem);  // its numbers have not been seen before
  }
  if (outline_.out) result.out = rows("out", outline_.out->shape, layout, 0, whole.value_dim());
  if (outline_.out_perm) {
    result.out_perm = rows("out_perm", outline_.out_perm->shape, layout, 0, whole.value_dim());
  }
  const auto maps = [&](const std::string& name, const std::optional<Tensor<double>>& tensor) {
    std::optional<Tensor<double>> taken;
    if (tensor) taken = rows(name, tensor->shape, TensorLayout::kBhsd, part.key, part.keys);
    return taken;
  };
  result.weights = maps("weights", outline_.weights);
  result.scores = maps("scores", outline_.scores);
  result.lse = lse_part(outline_.lse, part, group);
  if (outline_.probe) {
    const CausalProbe& probe = *outline_.probe;
    result.probe =
        CausalProbe{{},
                    {},
                    rows("causal_probe/out", probe.out.shape, layout, 0, whole.value_dim()),
                    std::max<Index>(0, probe.first_changed_key - part.key)};
  }
  return result;
}

}  // namespace attn
