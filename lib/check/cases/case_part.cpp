#include "check/cases/case_part.h"

#include <algorithm>

namespace attn {

namespace {

// Fewer rows at a time would read their keys again and again.
constexpr Index kFewestRows = 1024;
constexpr Index kFewestRowsOfMaps = 16;

template <class T>
std::vector<T> run_of(const std::vector<T>& table, Index first, Index count) {
  if (table.empty()) return {};
  return {table.begin() + first, table.begin() + first + count};
}

Tensor<double> rows_box(const Tensor<double>& tensor, const CasePart& part, Index group,
                        Index first_column, Index columns) {
  return box_of(tensor, {part.batch, part.kv_head * group, part.row, first_column},
                {part.batches, part.kv_heads * group, part.rows, columns});
}

Tensor<double> keys_box(const Tensor<double>& tensor, const CasePart& part) {
  return box_of(tensor, {part.batch, part.kv_head, part.key, 0},
                {part.batches, part.kv_heads, part.keys, tensor.dim(3)});
}

}  // namespace

Tensor<double> box_of(const Tensor<double>& whole, const Shape& first, const Shape& extents) {
  Tensor<double> box(extents);
  if (box.values.empty()) return box;
  double* to = box.data();
  const Shape& shape = whole.shape;
  for (Index a = 0; a < extents[0]; ++a) {
    for (Index b = 0; b < extents[1]; ++b) {
      const Index head = (first[0] + a) * shape[1] + first[1] + b;
      for (Index i = 0; i < extents[2]; ++i) {
        const Index from = (head * shape[2] + first[2] + i) * shape[3] + first[3];
        to = std::copy_n(whole.data() + from, extents[3], to);
      }
    }
  }
  return box;
}

MaskPart mask_part(const Tensor<double>& mask, const CasePart& part, Index group) {
  MaskPart of{{part.batch, part.kv_head * group, part.row, part.key},
              {part.batches, part.kv_heads * group, part.rows, part.keys}};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (mask.shape[axis] != 1) continue;
    of.first[axis] = 0;
    of.extents[axis] = 1;
  }
  return of;
}

std::optional<Tensor<double>> lse_part(const std::optional<Tensor<double>>& lse,
                                       const CasePart& part, Index group) {
  if (!lse) return std::nullopt;
  Tensor<double> taken({part.batches, part.kv_heads * group, part.rows});
  double* to = taken.data();
  for (Index b = part.batch; b < part.batch + part.batches; ++b) {
    for (Index h = part.kv_head * group; h < (part.kv_head + part.kv_heads) * group; ++h) {
      const double* from = lse->data() + (b * lse->dim(1) + h) * lse->dim(2) + part.row;
      to = std::copy_n(from, part.rows, to);
    }
  }
  return taken;
}

AttentionCase rules_of_part(const AttentionCase& outline, const CasePart& part) {
  const AttentionProblem& whole = outline.problem;
  const Index group = whole.heads() / whole.kv_heads();
  AttentionCase result;
  AttentionProblem& problem = result.problem;
  problem.rules = whole.rules;
  problem.kv_lens = run_of(whole.kv_lens, part.batch, part.batches);
  problem.cu_seqlens_q = whole.cu_seqlens_q;
  problem.cu_seqlens_k = whole.cu_seqlens_k;
  problem.alibi_slopes = run_of(whole.alibi_slopes, part.kv_head * group, part.kv_heads * group);
  problem.sinks = run_of(whole.sinks, part.kv_head * group, part.kv_heads * group);
  problem.cut = Cut{part.row, whole.q_len(), part.key, whole.kv_len(), part.batch, part.kv_head};
  problem.pages = whole.pages;
  result.alignment_given = outline.alignment_given;
  result.scores_stage = outline.scores_stage;
  result.stored = outline.stored;
  const bool all_rows = part.rows == whole.q_len();
  const bool all_keys = part.keys == whole.kv_len();
  if (all_rows && all_keys) result.perm = outline.perm;
  return result;
}

AttentionCase CaseInMemory::part(const CasePart& part) const {
  const AttentionProblem& whole = recorded_.problem;
  const Index group = whole.heads() / whole.kv_heads();
  AttentionCase result = rules_of_part(recorded_, part);
  AttentionProblem& problem = result.problem;
  problem.q = rows_box(whole.q, part, group, 0, whole.head_dim());
  problem.k = keys_box(whole.k, part);
  problem.v = keys_box(whole.v, part);
  if (whole.mask) {
    const MaskPart mask = mask_part(*whole.mask, part, group);
    problem.mask = box_of(*whole.mask, mask.first, mask.extents);
  }
  const auto rows_of = [&](const std::optional<Tensor<double>>& tensor, Index first, Index columns,
                           std::optional<Tensor<double>>& into) {
    if (tensor) into = rows_box(*tensor, part, group, first, columns);
  };
  rows_of(recorded_.out, 0, whole.value_dim(), result.out);
  rows_of(recorded_.out_perm, 0, whole.value_dim(), result.out_perm);
  rows_of(recorded_.weights, part.key, part.keys, result.weights);
  rows_of(recorded_.scores, part.key, part.keys, result.scores);
  result.lse = lse_part(recorded_.lse, part, group);
  if (recorded_.probe) {
    const CausalProbe& probe = *recorded_.probe;
    result.probe = CausalProbe{{},
                               {},
                               rows_box(probe.out, part, group, 0, whole.value_dim()),
                               std::max<Index>(0, probe.first_changed_key - part.key)};
  }
  return result;
}

CasePart whole_of(const AttentionProblem& problem) {
  return {0, problem.batch(), 0, problem.kv_heads(), 0, problem.q_len(), 0, problem.kv_len()};
}

CasePart with_keys_in_sight(const AttentionProblem& outline, CasePart part) {
  Index first = outline.kv_len();
  Index end = 0;
  for (Index b = part.batch; b < part.batch + part.batches; ++b) {
    for (Index i = part.row; i < part.end_row(); ++i) {
      const Sight sight = sight_of(outline, b, i);
      if (sight.end <= sight.first) continue;
      first = std::min(first, sight.first);
      end = std::max(end, sight.end);
    }
  }
  part.key = std::min(first, end);
  part.keys = end - part.key;
  return part;
}

double bytes_to_check(const AttentionCase& outline, const CasePart& part, bool maps) {
  const AttentionProblem& whole = outline.problem;
  const auto number = [](Index count) { return static_cast<double>(count); };
  const double kv_heads = number(part.batches * part.kv_heads);
  const double rows = kv_heads * number(whole.heads() / whole.kv_heads()) * number(part.rows);
  const double keys = kv_heads * number(part.keys);
  // q; out as recorded, of the reference and of the kernel; k and v, and their panels.
  double numbers = rows * number(whole.head_dim() + 3 * whole.value_dim()) +
                   2 * keys * number(whole.head_dim() + whole.value_dim());
  const int recorded = (outline.weights ? 1 : 0) + (outline.scores ? 1 : 0);
  if (maps || recorded > 0) numbers += rows * number(part.keys) * (recorded + (maps ? 4 : 2));
  if (whole.mask) {
    numbers += number(whole.mask->dim(0) == 1 ? 1 : part.batches) *
               number(whole.mask->dim(2) == 1 ? 1 : part.rows) *
               number(whole.mask->dim(3) == 1 ? 1 : part.keys) *
               number(whole.mask->dim(1) == 1 ? 1 : whole.heads());
  }
  return numbers * 8;
}

std::vector<CasePart> plan_parts(const AttentionCase& outline, bool maps, double most_bytes) {
  const AttentionProblem& problem = outline.problem;
  const CasePart all = whole_of(problem);
  if (bytes_to_check(outline, all, maps) <= most_bytes) return {all};
  const bool with_maps = maps || outline.weights || outline.scores;
  const bool permuted = !outline.perm.empty() && outline.out_perm;
  const Index fewest = permuted ? problem.q_len() : with_maps ? kFewestRowsOfMaps : kFewestRows;
  std::vector<CasePart> parts;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index kv_head = 0; kv_head < problem.kv_heads(); ++kv_head) {
      Index row = 0;
      while (row < problem.q_len()) {
        CasePart part{b, 1, kv_head, 1, row, problem.q_len() - row, 0, problem.kv_len()};
        while (true) {
          if (!with_maps && !permuted) part = with_keys_in_sight(problem, part);
          if (part.rows <= fewest || bytes_to_check(outline, part, maps) <= most_bytes) break;
          part.rows = std::max(fewest, (part.rows + 1) / 2);
        }
        row += part.rows;
        parts.push_back(part);
      }
    }
  }
  return parts;
}

}  // namespace attn
