#pragma once

#include <fstream>
#include <string>

#include "core/rng.h"
#include "model/model_config.h"
#include "support/process.h"
#include "train/task.h"

namespace attn {

/// A decoder as small as one gets that has all parts, of one block.
inline ModelConfig tiny(Index dim = 16, Index mlp_hidden = 16) {
  ModelConfig config;
  config.dim = dim;
  config.heads = 2;
  config.mlp_hidden = mlp_hidden;
  config.depth = 1;
  return config.completed();
}

/// A text by characters, as --text takes it from a file.
inline Task text_task(const std::string& text, TaskSettings settings) {
  const testing::TempFolder folder;
  settings.text = {(folder / "text").string()};
  std::ofstream(settings.text.front(), std::ios::binary) << text;
  return make_task(settings);
}

}  // namespace attn
