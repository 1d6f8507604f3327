#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/rng.h"
#include "io/output.h"
#include "model/checkpoint.h"
#include "support/process.h"

// What the tests of tinygpt-generate share: a small model with its tokenizer in a file, and the
// program run on it.

namespace attn::testing {

using Json = nlohmann::json;

/// A model of noise: its answers differ with what it reads, and a temperature makes them vary.
inline std::unique_ptr<Transformer<float>> noisy_model(ModelConfig config) {
  config.dim = 16;
  config.heads = 2;
  config.depth = 1;
  if (config.arch == Arch::kEncoderDecoder) {
    config.encoder_depth = 1;
    config.source_vocab_size = config.vocab_size;
  }
  auto model = std::make_unique<Transformer<float>>(config.completed());
  Rng rng(7, RandomPurpose::kExample);
  for (Index i = 0; i < model->params().size(); ++i) {
    model->params().values()[i] = static_cast<float>(0.5 * rng.normal());
  }
  return model;
}

/// Runs the program in a folder of its own, on the model that was saved there.
class GenerateModels : public ::testing::Test {
 protected:
  void save(const Transformer<float>& model, const Tokenizer& tokenizer) {
    Hdf5Writer writer;
    write_checkpoint(writer, model, &tokenizer, nullptr);
    write_output((folder_ / "m.h5").string(), writer.finish());
  }
  RunResult run(const std::string& words) const {
    RunOptions options;
    options.folder = folder_.path();
    return run_shell("tinygpt-generate m.h5 " + words, options);
  }
  Json result(const std::string& words) const {
    const auto ran = run("--json " + words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.status == 0 ? Json::parse(ran.out).at("results").at(0) : Json();
  }
  TempFolder folder_;
};

}  // namespace attn::testing
