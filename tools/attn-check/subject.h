#pragma once

#include <optional>
#include <string>

#include "attn-check/options.h"
#include "check/attention_case.h"
#include "check/case_file.h"
#include "check/token_projection.h"

namespace attn {

/// What a file holds, or what the options themselves hold.
struct Subject {
  std::string name;     // of the file, or "numbers"
  std::string history;  // of the file
  AttentionCase recorded;
  CaseAttributes attributes;              // the options' over the file's
  std::optional<TokenProjection> tokens;  // where q, k and v were made of them
};

/// Does a report look at values, or at weights alone?
enum class Values { kNeeded, kOptional };

/// Reads the case that a command line is about. Where values are optional and there are none, keys
/// stand in for them.
Subject read_subject(const CheckOptions& options, Values values = Values::kNeeded);

}  // namespace attn
