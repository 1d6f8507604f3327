#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/layer/layer_suppositions.h"

namespace attn {

/// What can be supposed of one layer, as it is collected: each call adds one supposition.
class LayerList {
 public:
  explicit LayerList(const LayerProblem& problem) : problem_(problem) {}

  const LayerProblem& problem() const { return problem_; }
  std::vector<LayerSupposition> take() { return std::move(found_); }

  /// The layer after a change of its own.
  void seen(const char* name, std::string detail, std::function<void(LayerProblem&)> change) {
    found_.push_back({name, std::move(detail), std::move(change), {}});
  }
  /// A step taken differently.
  void twisted(const char* name, std::string detail, LayerTwist twist) {
    found_.push_back({name, std::move(detail), {}, std::move(twist)});
  }
  void add(LayerSupposition supposed) { found_.push_back(std::move(supposed)); }

 private:
  const LayerProblem& problem_;
  std::vector<LayerSupposition> found_;
};

/// layer_suppositions_projections.cpp
void suppose_projections(LayerList& list);
/// layer_suppositions_rotation.cpp
void suppose_rotation(LayerList& list);

}  // namespace attn
