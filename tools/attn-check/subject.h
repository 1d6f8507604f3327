#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attn-check/options.h"
#include "check/cases/attention_case.h"
#include "check/cases/case_file.h"
#include "check/cases/stored_case.h"
#include "check/layer/token_projection.h"

namespace attn {

/// What a file holds, or what the options themselves hold.
struct CheckSubject {
  std::string name;     // of the file, or "numbers"
  std::string history;  // of the file
  AttentionCase recorded;
  CaseAttributes attributes;              // the options' over the file's
  std::optional<TokenProjection> tokens;  // where q, k and v were made of them
  /// Of a large case that stays in its file; `recorded` is then its outline, without numbers.
  std::shared_ptr<const StoredCase> stored;
};

/// Does a report look at values, or at weights alone?
enum class Values { kNeeded, kOptional };

/// May a large case stay in its file?
enum class Residence { kMemory, kFile };

/// Reads the case that a command line is about. Where values are optional and there are none, keys
/// stand in for them. `file` is the input, where it is open already.
CheckSubject read_subject(const CheckOptions& options, Values values = Values::kNeeded,
                          Residence residence = Residence::kMemory,
                          std::optional<TensorFile> file = std::nullopt);

}  // namespace attn
