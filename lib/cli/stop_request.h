#pragma once

namespace attn::cli {

/// While one of these exists, SIGINT, SIGTERM and SIGHUP ask a long run to stop where it can be
/// gone on from: the first is only noted, a second ends the program at once in the way that was in
/// place before (what on_interrupt registered is still cleaned up). A signal that the parent had
/// ignored stays ignored. At most one exists at a time.
///
///   const cli::StopRequest stop;
///   while (step < steps && !stop) ...
///   save();
///   stop.obey();
class StopRequest {
 public:
  /// Throws ShapeError where there is one already.
  StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  /// The handlers that were in place before are so again.
  ~StopRequest();

  /// The signal that came, 0 while none did.
  int signal() const;
  explicit operator bool() const { return signal() != 0; }
  /// "SIGINT", "SIGTERM" or "SIGHUP"; empty while none came.
  const char* name() const;

  /// Dies of the signal, so that a shell sees 130, 143 or 129; returns where none came. Streams
  /// are flushed before.
  void obey() const;
};

}  // namespace attn::cli
