#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/reference/reference_attention.h"
#include "check/reference/tensor_layout.h"

namespace attn {

/// A second run with the keys and values from `first_changed_key` on changed: rows that may not
/// see those keys must give what they gave before.
struct CausalProbe {
  Tensor<double> k;
  Tensor<double> v;
  Tensor<double> out;
  Index first_changed_key = 0;
};

/// What each record was stored in: rounding to it is no mistake of the implementation, whose own
/// type may be finer (weights of a float64 run are kept as f32).
struct StoredTypes {
  DType out = DType::kF64;
  DType weights = DType::kF64;
  DType scores = DType::kF64;
  DType lse = DType::kF64;
  DType out_perm = DType::kF64;
  DType probe_out = DType::kF64;
};

/// What somebody's backward pass gave for a gradient of out; whatever of it was recorded.
struct GradientRecord {
  Tensor<double> d_out;                   // (batch, heads, q_len, value_dim)
  std::optional<Tensor<double>> d_q;      // the shape of q
  std::optional<Tensor<double>> d_k;      // the shape of k
  std::optional<Tensor<double>> d_v;      // the shape of v
  std::optional<Tensor<double>> d_sinks;  // (heads)
  DType stored_d_q = DType::kF64;         // what each was stored in
  DType stored_d_k = DType::kF64;
  DType stored_d_v = DType::kF64;
  DType stored_d_sinks = DType::kF64;
};

/// A problem and what somebody's implementation made of it: whatever of it was recorded.
struct AttentionCase {
  AttentionProblem problem;
  TensorLayout layout = TensorLayout::kBhsd;  // of the file; the tensors here are in BHSD
  std::vector<std::string> assumed;           // what nobody said and was taken, in words
  bool alignment_given = false;               // somebody said where the causal diagonal starts
  std::optional<Tensor<double>> out;          // (batch, heads, q_len, value_dim)
  std::optional<Tensor<double>> weights;      // (batch, heads, q_len, kv_len)
  std::optional<Tensor<double>> scores;       // (batch, heads, q_len, kv_len)
  ScoreStage scores_stage = ScoreStage::kMasked;
  std::optional<Tensor<double>> lse;       // (batch, heads, q_len)
  std::vector<Index> perm;                 // (q_len): order of the tokens in a second run
  std::optional<Tensor<double>> out_perm;  // what that run gave
  std::optional<CausalProbe> probe;
  std::optional<GradientRecord> gradient;
  StoredTypes stored;
};

/// The case of an implementation that gave this answer, all of which was recorded.
AttentionCase recorded_answer(AttentionProblem problem, AttentionAnswer answer);

/// The problem with its tokens in the order `perm`: queries, and keys and values too where there
/// are as many (self-attention).
AttentionProblem permuted(const AttentionProblem& problem, const std::vector<Index>& perm);

/// True where the order of the tokens means nothing, so that permuting them only permutes the
/// output: no causality, window, mask, lengths, packing or ALiBi.
bool order_free(const AttentionProblem& problem);

/// Throws DataError unless problem and records fit together.
void validate(const AttentionCase& recorded);

}  // namespace attn
