#pragma once

#include <string>

#include "attn-check/options.h"
#include "attn-check/subject.h"
#include "check/verdict/verdict.h"
#include "cli/session.h"

namespace attn {

/// Checks the case that a file or the options themselves hold; returns the exit code.
int run_case(const CheckOptions& options, cli::Session& session);

/// The same of one that was read; `steps` prints the steps of small ones first.
int check_subject(const CheckSubject& subject, const CheckOptions& options, bool steps,
                  cli::Session& session);

/// kNo where a check failed.
int exit_code(const Verdict& verdict);

/// For the line on stderr: ": pass, 4 checks", ": fail, 1 of 4 checks"; of none nothing.
std::string checked_words(const Verdict& verdict);

}  // namespace attn
