#pragma once

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/rng.h"
#include "model/transformer.h"

// The one table that drives the gradient, cache and causality tests: a new scheme is a new row.

namespace attn::testing {

struct Configuration {
  std::string name;
  ModelConfig model;
};

inline std::string describe(const ModelConfig& c) {
  return fmt::format(
      "{}-{}-{}-{}-kv{}-{}-{}-{}-{}", enum_name(c.arch), enum_name(c.norm), enum_name(c.norm_type),
      c.position == Position::kRope ? enum_name(c.rope_style) : enum_name(c.position), c.kv_heads,
      enum_name(c.activation), c.tie_embeddings ? "tied" : "untied", c.bias ? "bias" : "nobias",
      c.head_dim);
}

/// Stretched rope of every kind, and biases on some projections only, as models made elsewhere have
/// them.
inline std::vector<Configuration> stretched_configurations() {
  std::vector<Configuration> all;
  for (const RopeScalingKind kind :
       {RopeScalingKind::kLinear, RopeScalingKind::kNtk, RopeScalingKind::kDynamic,
        RopeScalingKind::kYarn, RopeScalingKind::kLlama3, RopeScalingKind::kLongrope}) {
    ModelConfig c;
    c.vocab_size = 5;
    c.dim = 8;
    c.heads = 2;
    c.kv_heads = 1;
    c.depth = 2;
    c.mlp_hidden = 5;
    c.norm_type = NormType::kRmsNorm;
    c.activation = MlpActivation::kSwiglu;
    c.position = Position::kRope;
    c.rope_base = 100;
    c.rope_scaling.kind = kind;
    c.rope_scaling.factor = 4;
    c.rope_scaling.original_max_positions = 12;
    if (kind == RopeScalingKind::kLongrope) {
      c.rope_scaling.short_factor = {1, 1.5};
      c.rope_scaling.long_factor = {2, 4};
    }
    c.bias = all.size() % 2 == 0;
    c.out_bias = all.size() % 3 == 0;
    c.mlp_bias = all.size() % 3 == 1;
    c = c.completed();
    all.push_back({std::string(rope_scaling_name(kind)) + "-" + describe(c), c});
  }
  return all;
}

/// Norm placement x positions x kv_heads x cross in full, and the stretched ones; norm type,
/// activation, tied head, biases and head sizes other than dim / heads turn through their values
/// beside them, each in a time of its own, so that every pair of choices occurs
/// (configurations_test.cpp).
inline std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  std::size_t row = 0;
  const std::vector<std::pair<Position, RopePairs>> positions = {
      {Position::kSinusoidal, RopePairs::kHalves}, {Position::kLearned, RopePairs::kHalves},
      {Position::kRope, RopePairs::kHalves},       {Position::kRope, RopePairs::kInterleaved},
      {Position::kAlibi, RopePairs::kHalves},      {Position::kNone, RopePairs::kHalves}};
  const std::vector<MlpActivation> activations = {MlpActivation::kGelu, MlpActivation::kSwiglu,
                                                  MlpActivation::kRelu, MlpActivation::kGeluTanh,
                                                  MlpActivation::kSwiglu};
  for (const NormPlacement norm : {NormPlacement::kPre, NormPlacement::kPost}) {
    for (const auto& position : positions) {
      for (const Index kv_heads : {4, 2, 1}) {
        for (const bool cross : {false, true}) {
          ModelConfig c;
          c.arch = cross ? Arch::kEncoderDecoder : Arch::kDecoder;
          c.vocab_size = 5;
          c.dim = 8;
          c.heads = 4;
          c.kv_heads = kv_heads;
          c.head_dim = row / 7 % 3 == 0 ? 4 : 2;
          c.depth = cross ? 1 : 2;
          if (cross) {
            c.source_vocab_size = 6;
            c.encoder_depth = 1;
          }
          c.mlp_hidden = 5;
          c.norm = norm;
          c.position = position.first;
          c.rope_style = position.second;
          c.rope_base = 100;  // so that few positions turn far
          c.max_positions = position.first == Position::kLearned ? 12 : 0;
          c.norm_type = row / 5 % 2 == 0 ? NormType::kLayerNorm : NormType::kRmsNorm;
          c.activation = activations[row % activations.size()];
          c.tie_embeddings = row % 4 >= 2;
          // ReLU's kink is kept away by its bias.
          c.bias = row % 7 % 2 == 0 || c.activation == MlpActivation::kRelu;
          c.head_bias = row % 11 % 2 == 0;
          c.norm_bias = row % 13 % 2 == 0;
          c = c.completed();
          all.push_back({describe(c), c});
          ++row;
        }
      }
    }
  }
  for (Configuration& stretched : stretched_configurations()) all.push_back(std::move(stretched));
  return all;
}

/// Fills all parameters with seeded noise. Norm weights and biases leave their usual 1 and 0, so
/// that a forgotten or swapped one shows.
template <class T>
void scramble(ParamStore<T>& params, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample);
  for (const ParamInfo& info : params.list()) {
    T* value = params.values() + info.place.offset;
    for (Index i = 0; i < info.place.size(); ++i) {
      const double noise = rng.normal();
      double drawn = 0.2 * noise;  // biases
      if (info.rule.init == Init::kOnes) drawn = 1 + 0.2 * noise;
      if (info.rule.init == Init::kNormal) drawn = 0.8 * noise;
      if (info.shape.size() == 2 && info.rule.init == Init::kUniform) {
        drawn = noise / std::sqrt(static_cast<double>(info.rule.fan_in));
      }
      value[i] = static_cast<T>(drawn);
    }
  }
}

/// Seeded token ids below `vocab_size`.
inline std::vector<Index> some_ids(Index count, Index vocab_size, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, 1);
  std::vector<Index> ids(static_cast<std::size_t>(count));
  for (Index& id : ids) id = rng.below(vocab_size);
  return ids;
}

}  // namespace attn::testing
