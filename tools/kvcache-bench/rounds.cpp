#include "kvcache-bench/rounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "bench/stopwatch.h"
#include "cli/progress.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {

namespace {

constexpr double kPatience = 20;  // seconds

void note_fewer_rounds(const Interleaving& how, double round_seconds, const cli::Session& session) {
  session.note(
      fmt::format("a round takes {:.1f} s: {} to warm up, {} timed (--warmup and --repeats ask for "
                  "more)",
                  round_seconds, how.warmup, how.repeats));
}

}  // namespace

Interleaving rounds_of(const BenchOptions& o, double round_seconds, const cli::Session& session) {
  Interleaving how;
  how.seed = static_cast<std::uint64_t>(o.seed);
  if (!o.preset.empty()) {
    // Their reports are to be compared: as many rounds on every machine, and not too many for a
    // slow one.
    how.warmup = 1;
    how.repeats = 5;
  } else if (!o.repeats && !o.warmup) {
    const Index usual = how.repeats;
    how = within_budget(how, round_seconds, kPatience);
    if (how.repeats < usual) note_fewer_rounds(how, round_seconds, session);
  }
  how.warmup = o.warmup.value_or(how.warmup);
  how.repeats = o.repeats.value_or(how.repeats);
  return how;
}

Interleaving serving_rounds_of(const BenchOptions& o, double round_seconds,
                               const cli::Session& session) {
  Interleaving how;
  how.seed = static_cast<std::uint64_t>(o.seed);
  if (!o.repeats && !o.warmup &&
      round_seconds * static_cast<double>(how.warmup + how.repeats) > kPatience) {
    const auto fit = static_cast<Index>(kPatience / round_seconds);
    how.warmup = 0;
    how.repeats = std::clamp<Index>(fit, 1, how.repeats);
    note_fewer_rounds(how, round_seconds, session);
  }
  how.warmup = o.warmup.value_or(o.repeats ? 0 : how.warmup);
  how.repeats = o.repeats.value_or(how.repeats);
  return how;
}

void measure_with_progress(
    const cli::Session& session, const char* what,
    const std::function<void(const std::function<void(Index, Index)>&)>& measure) {
  // What is over in a moment needs no word.
  constexpr std::int64_t kSilentNs = 2'000'000'000;
  const Stopwatch watch;
  std::optional<cli::Progress> progress;
  measure([&](Index done, Index all) {
    if (!progress && watch.elapsed().wall_ns > kSilentNs) progress.emplace(session, all, what);
    if (progress) progress->update(done);
  });
}

void write_bench_file(const BenchOptions& o, const cli::Session& session,
                      const std::string& earlier_history,
                      const std::function<void(Hdf5Writer&)>& fill) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = "attntools-bench";
  provenance.seed = o.seed;
  provenance.command = session.history();
  provenance.earlier_history = earlier_history;
  write_provenance(writer, provenance);
  fill(writer);
  write_output(o.output, writer.finish());
}

}  // namespace attn
