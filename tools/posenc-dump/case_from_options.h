#pragma once

#include <string>

#include "check/posenc/posenc_case.h"
#include "posenc-dump/options.h"

namespace attn {

/// What --check holds to its formula, under the name messages give it.
struct NamedCase {
  std::string name;
  PosencCase recorded;
};

/// A case file; or numbers (typed, of a text file, FILE:/dataset), for which the options say what
/// they are: the table of --kind sinusoidal, the slopes of alibi, the inverse frequencies of rope,
/// the buckets of t5.
NamedCase case_from_options(const PosencOptions& options, const cli::Session& session);

}  // namespace attn
