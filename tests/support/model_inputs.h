#pragma once

#include <string>
#include <vector>

#include "model/transformer.h"
#include "support/reference.h"
#include "support/truth.h"

namespace attn::testing {

/// What a reference file feeds a model with: ids, targets, masks and a source where it has them.
struct ModelInputs {
  Index batch = 0;
  Index seq_len = 0;
  Index source_len = 0;
  std::vector<Index> ids, targets, source;
  std::vector<std::uint8_t> mask, source_mask;  // empty: none

  /// Its first `sequences` as a model reads them; this must live as long.
  TokenInput input(Index sequences) const {
    const auto part = [&](const auto& all, Index each) {
      return std::span(all).first(static_cast<std::size_t>(sequences * each));
    };
    TokenInput made;
    made.ids = part(ids, seq_len);
    made.rows = {sequences, seq_len, mask.empty() ? nullptr : mask.data()};
    if (source_len > 0) {
      made.source = part(source, source_len);
      made.source_rows = {sequences, source_len,
                          source_mask.empty() ? nullptr : source_mask.data()};
    }
    return made;
  }
  TokenInput input() const { return input(batch); }
};

/// Every batch of a group: of /input one, of /input/steps one for each update (the leading axis).
inline std::vector<ModelInputs> model_inputs(const Reference& file,
                                             const std::string& group = "/input") {
  const bool stepped = file.reader().info(group + "/ids").shape.size() == 3;
  const Shape shape = file.reader().info(group + "/ids").shape;
  std::vector<ModelInputs> all(stepped ? static_cast<std::size_t>(shape[0]) : 1);
  const auto fill = [&](const std::string& name, auto ModelInputs::*part, Index ModelInputs::*len) {
    using Value = typename std::decay_t<decltype(all.front().*part)>::value_type;
    if (!file.has(group + "/" + name)) return;
    const Tensor<Value> read = file.reader().read<Value>(group + "/" + name);
    const auto each = read.values.size() / all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto first = read.values.begin() + static_cast<std::ptrdiff_t>(i * each);
      (all[i].*part).assign(first, first + static_cast<std::ptrdiff_t>(each));
      all[i].batch = read.dim(-2);
      all[i].*len = read.dim(-1);
    }
  };
  fill("ids", &ModelInputs::ids, &ModelInputs::seq_len);
  fill("targets", &ModelInputs::targets, &ModelInputs::seq_len);
  fill("padding_mask", &ModelInputs::mask, &ModelInputs::seq_len);
  fill("source", &ModelInputs::source, &ModelInputs::source_len);
  fill("source_mask", &ModelInputs::source_mask, &ModelInputs::source_len);
  return all;
}

/// Why a file does not hold a whole model with what it reads and says; empty where it does.
inline std::string no_model_inputs(const Reference& file) {
  const std::string arch = file.text("arch");
  if (!parse_enum<Arch>(arch)) return "arch '" + arch + "'";
  for (const char* needed : {"/parameters", "/input/ids", "/input/targets", "/expected/logits"}) {
    if (!file.has(needed)) return std::string("no ") + needed;
  }
  return "";
}

/// Numbers of every parameter, such as gradients, against the group's datasets, of which there must
/// be as many.
template <class T>
void expect_parameters(const Reference& file, const std::string& group, const ParamStore<T>& params,
                       const T* values) {
  if (!file.has(group)) return;
  EXPECT_EQ(file.reader().children(group).size(), params.list().size()) << group;
  for (const ParamInfo& info : params.list()) {
    file.expect_near(group + "/" + info.name, values + info.place.offset, info.place.size());
  }
}

/// Calls hold(file) for each reference file that feeds a model; the others are counted as skipped.
template <class Hold>
void hold_model_files(const Hold& hold) {
  TruthCount count;
  for (const auto& path : reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    const std::string why = no_model_inputs(file);
    if (!why.empty()) {
      count.skip(path, why);
      continue;
    }
    count.hold();
    hold(file);
  }
}

}  // namespace attn::testing
