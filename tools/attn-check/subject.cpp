#include "attn-check/subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "check/cases/case_arguments.h"
#include "io/provenance.h"
#include "io/tensor_argument.h"

namespace attn {
namespace {

// q, k and v made of tokens, all typed or from files of their own.
CheckSubject subject_of_tokens(const CheckOptions& o, const ReadLimits& limits) {
  const auto tensor = [&](const char* name) -> std::optional<Tensor<double>> {
    const auto given = o.projection.find(name);
    if (given == o.projection.end()) return std::nullopt;
    std::string option = "--" + given->first;
    std::replace(option.begin(), option.end(), '_', '-');
    Tensor<double> read = tensor_argument(given->second, option, limits);
    if (read.rank() == 1) read.shape.insert(read.shape.begin(), 1);
    return read;
  };
  CheckSubject subject;
  subject.name = "tokens";
  subject.attributes = o.attributes;
  subject.tokens = TokenProjection{};
  subject.tokens->heads = o.attributes.heads.value_or(1);
  subject.tokens->kv_heads = o.attributes.kv_heads.value_or(subject.tokens->heads);
  subject.tokens->x = *tensor("x");
  subject.tokens->context = tensor("context");
  subject.tokens->q_proj = tensor("q_proj");
  subject.tokens->k_proj = tensor("k_proj");
  subject.tokens->v_proj = tensor("v_proj");
  Projected made = project_tokens(*subject.tokens);
  AttentionCase& recorded = subject.recorded;
  recorded.problem.q = std::move(made.q);
  recorded.problem.k = std::move(made.k);
  recorded.problem.v = std::move(made.v);
  const auto beside = [&](const char* name, std::size_t axes) -> std::optional<Tensor<double>> {
    const auto given = o.names.find(name);
    if (given == o.names.end()) return std::nullopt;
    Tensor<double> read = tensor_argument(given->second, fmt::format("--{}", name), limits);
    if (read.shape.size() < axes) {
      read.shape.insert(read.shape.begin(), axes - read.shape.size(), 1);
    }
    return read;
  };
  recorded.problem.mask = beside("mask", 4);
  recorded.out = beside("out", 4);
  recorded.weights = beside("weights", 4);
  recorded.scores = beside("scores", 4);
  recorded.lse = beside("lse", 3);
  apply(o.attributes, recorded);
  validate(recorded);
  return subject;
}

}  // namespace

CheckSubject read_subject(const CheckOptions& o, Values values, Residence residence,
                          std::optional<TensorFile> file) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  if (o.projection.count("x") != 0) return subject_of_tokens(o, limits);
  CheckSubject subject;
  subject.name = "numbers";
  subject.attributes = o.attributes;
  if (o.input.empty()) {
    subject.recorded = case_from_arguments(o.names, o.attributes, limits);
    return subject;
  }
  TensorFile reader = file ? std::move(*file) : TensorFile::open(o.input, limits);
  subject.name = reader.name();
  subject.attributes = merged(o.attributes, read_case_attributes(reader));
  subject.history = read_history(reader);
  CaseNames names = o.names;
  const auto at = [&](const char* name) {
    const auto mapped = names.find(name);
    return mapped == names.end() ? std::string("/") + name : mapped->second;
  };
  const bool paged = names.count("k_pages") != 0 || reader.has_dataset("/k_pages");
  if (values == Values::kOptional && !paged && names.count("v") == 0 && !reader.has_dataset("/v")) {
    names["v"] = at("k");
  }
  if (residence == Residence::kFile) {
    subject.stored = StoredCase::open(reader, subject.attributes, names, limits);
  }
  subject.recorded = subject.stored ? subject.stored->outline()
                                    : read_case(reader, subject.attributes, names, limits);
  return subject;
}

}  // namespace attn
