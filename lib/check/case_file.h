#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check/attention_case.h"
#include "io/tensor_file.h"

namespace attn {

/// How the axes of q, k, v, out and out_perm are stored; maps and lse have heads before rows in
/// both.
enum class TensorLayout { kBhsd, kBshd };

/// The rules of a case as its root attributes or options state them; none: nobody said.
struct CaseAttributes {
  std::optional<TensorLayout> layout;
  std::optional<DType> dtype;
  std::optional<double> scale;
  std::optional<bool> causal;
  std::optional<CausalAlignment> causal_alignment;
  std::optional<Index> causal_offset;
  std::optional<Index> window_left;
  std::optional<Index> window_right;
  std::optional<double> softcap;
  std::optional<MaskType> mask_type;
  std::optional<FullyMasked> fully_masked;
  std::optional<ScoreStage> scores_stage;
  std::optional<Index> kv_heads;  // informative: must agree with k
};

/// Where a dataset stands under another name: "q" -> "/layer0/query".
using CaseNames = std::map<std::string, std::string>;

/// The datasets of a case, in the order of its documentation.
const std::vector<std::string>& case_datasets();

/// The words of each attribute that has words, as files and options spell them.
std::optional<TensorLayout> parse_layout(std::string_view word);
std::optional<CausalAlignment> parse_causal_alignment(std::string_view word);
std::optional<MaskType> parse_mask_type(std::string_view word);
std::optional<FullyMasked> parse_fully_masked(std::string_view word);
std::optional<ScoreStage> parse_scores_stage(std::string_view word);
/// f64, f32, f16 or bf16 by any of their names.
std::optional<DType> parse_checked_dtype(std::string_view word);

/// The root attributes. DataError for a value that is none of an attribute's, and for an attribute
/// that this format does not have: ignoring it could turn a wrong file into a right one.
CaseAttributes read_case_attributes(const TensorFile& reader);

/// What `over` says, else what `under` says.
CaseAttributes merged(const CaseAttributes& over, const CaseAttributes& under);

/// Sets the rules of a case that has its tensors already.
void apply(const CaseAttributes& attributes, AttentionCase& recorded);

/// A whole case, in (batch, heads, rows, features) whatever its layout, and validated. DataError
/// names file and object where q, k or v are missing, where shapes do not fit, and, unless names
/// are mapped, for a dataset that the format does not have.
AttentionCase read_case(const TensorFile& reader, const CaseAttributes& attributes,
                        const CaseNames& names);

/// Swaps the axes of heads and rows of (batch, x, y, features): from one layout to the other.
Tensor<double> swap_layout(const Tensor<double>& tensor);

}  // namespace attn
