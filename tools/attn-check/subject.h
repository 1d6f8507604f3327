#pragma once

#include <string>

#include "attn-check/options.h"
#include "check/attention_case.h"
#include "check/case_file.h"

namespace attn {

/// What a file holds, or what the options themselves hold.
struct Subject {
  std::string name;     // of the file, or "numbers"
  std::string history;  // of the file
  AttentionCase recorded;
  CaseAttributes attributes;  // the options' over the file's
};

/// Reads the case that a command line is about.
Subject read_subject(const CheckOptions& options);

}  // namespace attn
