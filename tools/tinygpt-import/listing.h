#pragma once

#include <string>
#include <vector>

#include "cli/common_options.h"
#include "model/import/hf_family.h"

namespace attn {

/// One tensor of a model folder and what it holds, for people and programs.
struct ListedTensor {
  std::string name;  ///< the file's
  std::string dtype;
  HfMapping mapping;
};

/// What an import or an export does.
struct Listing {
  const HfFamily* family = nullptr;
  ModelConfig config;
  std::vector<ListedTensor> tensors;
  std::vector<std::string> passed_over;
  std::string tokenizer;  ///< its kind; empty: ids only
};

/// One line: "gpt2: 2 blocks, width 64, 4 heads of 16, 65 tokens; 106,304 parameters in 28
/// tensors".
std::string summary_line(const Listing& listing);

/// The whole in a format; with_tensors: each tensor's line too.
std::string listing_report(const Listing& listing, bool with_tensors, cli::Format format);

}  // namespace attn
