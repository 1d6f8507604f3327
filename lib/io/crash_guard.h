#pragma once

#include <string_view>

namespace attn {

/// Between enter and leave, SIGSEGV, SIGBUS, SIGFPE and SIGABRT write one line that names the
/// input and end the process with exit code 3. HDF5 1.10.8 is known to die on some crafted files
/// before any check of ours can run; a file that shrinks while it is mapped ends here too. This is
/// a message, not a sandbox. Calls nest. Does nothing under AddressSanitizer, which reports better.
///
/// The library also turns round for ever in some (a global heap with an object of no size), so
/// `busy_seconds` of processor time end the process in the same way. Who reads much says between
/// one piece and the next that it goes on.
void enter_crash_guard(std::string_view input, int busy_seconds = 10);
void leave_crash_guard();
void renew_crash_guard();

}  // namespace attn
