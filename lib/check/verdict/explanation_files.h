#pragma once

#include <span>
#include <string_view>

namespace attn {

/// One file of data/mistakes: its topic ("sight") and its text.
struct ExplanationFile {
  std::string_view topic;
  std::string_view text;
};

/// All of them, in the order of their printing.
std::span<const ExplanationFile> explanation_files();

}  // namespace attn
