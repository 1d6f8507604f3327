#pragma once

namespace attn::cli {

/// A function for SIGINT, SIGTERM and SIGHUP to call before the program dies of them (130, 143,
/// 129 to a shell): removing temporary files, for example. It must be async-signal-safe. At most
/// eight; they are called in the order of registration.
void on_interrupt(void (*clean_up)());

/// Installs the handlers, and gives SIGPIPE its default back: a closed pipe ends a program
/// without a word.
void install_signal_handlers();

/// Opens whichever of stdin, stdout, stderr the caller closed, so that no file of ours gets its
/// number; reading or writing it fails.
void open_standard_streams();

}  // namespace attn::cli
