#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/cases/attention_case.h"
#include "check/reference/key_pages.h"
#include "check/reference/tensor_layout.h"
#include "io/tensor_file.h"

namespace attn {

/// The rules of a case as its root attributes or options state them; none: nobody said.
struct CaseAttributes {
  std::optional<TensorLayout> layout;
  std::optional<DType> dtype;
  std::optional<bool> tf32;  // dtype "tf32": float32 with TF32 products
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
  std::optional<Index> heads;  // how many stand side by side in q, where the layout joins them
  std::optional<PagesLayout> pages_layout;
  std::optional<Index> page_size;  // must agree with k_pages
  std::optional<Index> kv_heads;   // in k and v: must agree with k; as many as heads unless given
};

/// The words of each attribute that has words, as files and options spell them.
std::optional<CausalAlignment> parse_causal_alignment(std::string_view word);
std::optional<MaskType> parse_mask_type(std::string_view word);
std::optional<FullyMasked> parse_fully_masked(std::string_view word);
std::optional<ScoreStage> parse_scores_stage(std::string_view word);
/// f64, f32, f16 or bf16 by any of their names.
std::optional<DType> parse_checked_dtype(std::string_view word);

/// The root attributes. DataError for a value that is none of an attribute's, and for an attribute
/// that this format does not have and that is not among `others`: ignoring it could turn a wrong
/// file into a right one.
CaseAttributes read_case_attributes(const TensorFile& reader,
                                    const std::vector<std::string>& others = {});

/// What `over` says, else what `under` says.
CaseAttributes merged(const CaseAttributes& over, const CaseAttributes& under);

/// Sets the rules of a case that has its tensors already.
void apply(const CaseAttributes& attributes, AttentionCase& recorded);

}  // namespace attn
