#include "kvcache-bench/compare.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "bench/doubts.h"
#include "bench/interleave.h"
#include "bench/machine.h"
#include "bench/stopwatch.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-bench/context.h"
#include "kvcache-bench/report.h"
#include "kvcache-bench/subjects.h"

namespace attn {
namespace {

void write_file(const BenchOptions& o, const cli::Session& session,
                const CacheExperiment& experiment, bool timed, const BenchContext& context,
                const std::string& earlier_history) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = "attntools-bench";
  provenance.seed = o.seed;
  provenance.command = session.history();
  provenance.earlier_history = earlier_history;
  write_provenance(writer, provenance);
  write_bench(writer, context, bench_columns(experiment, timed), experiment.rows());
  write_output(o.output, writer.finish());
}

// Rounds as asked for; where nobody asked, no more than patience allows.
Interleaving rounds_of(const BenchOptions& o, double round_seconds, const cli::Session& session) {
  constexpr double kPatience = 20;
  Interleaving how;
  how.seed = static_cast<std::uint64_t>(o.seed);
  if (!o.repeats && !o.warmup) {
    const Index usual = how.repeats;
    how = within_budget(how, round_seconds, kPatience);
    if (how.repeats < usual) {
      session.note(
          fmt::format("a round takes {:.1f} s: {} to warm up, {} timed (--warmup and "
                      "--repeats ask for more)",
                      round_seconds, how.warmup, how.repeats));
    }
  }
  how.warmup = o.warmup.value_or(how.warmup);
  how.repeats = o.repeats.value_or(how.repeats);
  return how;
}

void measure(const BenchOptions& o, const Interleaving& how, CacheExperiment& experiment,
             const cli::Session& session) {
  // What is over in a moment needs no word.
  constexpr std::int64_t kSilentNs = 2'000'000'000;
  const Stopwatch watch;
  std::optional<cli::Progress> progress;
  experiment.measure(how, [&](Index done, Index all) {
    if (!progress && watch.elapsed().wall_ns > kSilentNs) progress.emplace(session, all, "runs");
    if (progress) progress->update(done);
  });
  progress.reset();
  experiment.add_yardsticks(static_cast<int>(o.threads));
}

}  // namespace

int run_compare(const BenchOptions& o, cli::Session& session) {
  const std::vector<DecodeWork> work = work_of(o);
  const Index capacity = capacity_of(work);
  if (!o.output.empty()) check_output(o.output, {o.input});
  std::string history;
  CacheExperiment experiment(make_subjects(o, capacity, history), work, o.caches);
  BenchContext context = work_context(o, experiment);
  const Machine machine = this_machine();
  if (!o.counts_only) {
    add_machine(context, machine);
    context.emplace_back("threads", o.threads);
    note_context(session, o, machine);
    for (const auto& doubt : doubts_before(machine, build_type(), o.threads)) session.warn(doubt);
  }
  // It runs each way once, as a round does.
  const Stopwatch watch;
  experiment.verify();
  const double round_seconds = static_cast<double>(watch.elapsed().wall_ns) * 1e-9;
  // Times of what computes something else would be believed.
  const bool agreed = experiment.agreement().counts && experiment.agreement().outputs;
  const bool timed = agreed && !o.counts_only;
  const Interleaving how = timed ? rounds_of(o, round_seconds, session) : Interleaving{};
  if (!o.counts_only) {
    context.emplace_back("warmup", timed ? how.warmup : 0);
    context.emplace_back("repeats", timed ? how.repeats : 0);
  }
  if (timed) {
    measure(o, how, experiment, session);
    for (const auto& doubt : doubts_after(experiment, machine)) session.warn(doubt);
  }
  if (!o.output.empty()) write_file(o, session, experiment, timed, context, history);
  session.report().write(
      bench_report(experiment, context,
                   {o.format, headline(o, experiment), o.prompt_apart, o.counts_only, timed}));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

}  // namespace attn
