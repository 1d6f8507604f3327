#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/aligned.h"
#include "core/tensor.h"

namespace attn {

/// How a parameter begins, in PyTorch's scheme. kUniform: U(-1/sqrt(fan_in), 1/sqrt(fan_in)), its
/// default for the weight and the bias of a Linear; kNormal: N(0, 1), its default for an Embedding.
enum class Init { kZeros, kOnes, kUniform, kNormal };

/// From what all parameters are drawn. kPyTorch: what each one's Init says. kGpt2: N(0, 0.02) for
/// embeddings and the weights of a Linear, 0 for its biases; a projection onto the residual stream
/// N(0, 0.02 / sqrt(additions)), so that the stream's variance does not grow with depth (Radford et
/// al. 2019, section 2.3; nanoGPT). kXavier: the weight of a Linear U(-a, a) with a = sqrt(6 / (in
/// + out)), its bias 0, embeddings N(0, 1) (Glorot & Bengio 2010; what Xiong et al. 2020,
/// arXiv:2002.04745, reason about). Norms begin at 1 and 0 in all.
enum class InitScheme { kPyTorch, kGpt2, kXavier };

/// Where one parameter lies in every flat buffer of a ParamStore's layout (values, gradients,
/// the optimiser's moments). A vector is one row.
struct Param {
  Index offset = 0;
  Index rows = 0;
  Index cols = 0;

  Index size() const { return rows * cols; }
  /// The parameter within a flat buffer: (out, in) for a matrix.
  template <class T>
  Matrix<T> in(T* buffer) const {
    return {buffer + offset, rows, cols};
  }
};

/// What a parameter's first numbers depend on.
struct InitRule {
  Init init = Init::kZeros;
  Index fan_in = 0;              // inputs of the layer, for kUniform
  Index residual_additions = 0;  // that its stack makes, where it is the matrix of one; else 0
};

/// One entry of the layout: what the file, the optimiser and the reports know of a parameter.
struct ParamInfo {
  std::string name;  // dots, as in the file: blocks.0.attn.q_proj.weight
  Shape shape;       // (out, in), (rows, dim) or (n)
  Param place;
  InitRule rule;
};

/// Owner of a model's parameters: all values in one flat buffer, in the order of registration.
/// Gradients and moments are flat buffers of the same size and layout that others own, so the
/// optimiser, clipping, reduction over chunks and the checkpoint are each one loop.
template <class T>
class ParamStore {
 public:
  ParamStore() = default;
  ParamStore(const ParamStore&) = delete;
  ParamStore& operator=(const ParamStore&) = delete;

  /// Registers a parameter of rank 1 or 2. Throws ShapeError for a name that exists, and once
  /// allocate() was called.
  Param add(std::string name, Shape shape, const InitRule& rule);

  /// In order of registration, which is the order in the flat buffers.
  const std::vector<ParamInfo>& list() const { return list_; }
  /// Null where there is none of that name.
  const ParamInfo* find(std::string_view name) const;
  /// Numbers in all.
  Index size() const { return size_; }

  /// Takes the memory of all values, at zero: last, so that a layout can be looked at and compared
  /// with a file before any memory is spent on it.
  void allocate();

  T* values() { return values_.data(); }
  const T* values() const { return values_.data(); }

  /// Draws every parameter anew: the i-th of list() from the stream (seed, initialisation, i), so
  /// that one parameter's numbers do not depend on the others.
  void initialise(std::uint64_t seed, InitScheme scheme = InitScheme::kPyTorch);

 private:
  std::vector<ParamInfo> list_;
  std::unordered_map<std::string, std::size_t> place_of_;  // in list_, by name
  Index size_ = 0;
  LineVector<T> values_;
};

}  // namespace attn
