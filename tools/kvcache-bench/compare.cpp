#include "kvcache-bench/compare.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "bench/doubts.h"
#include "bench/interleave.h"
#include "bench/machine.h"
#include "bench/stopwatch.h"
#include "cli/exit_code.h"
#include "core/counted.h"
#include "core/text.h"
#include "io/output.h"
#include "kvcache-bench/context.h"
#include "kvcache-bench/report.h"
#include "kvcache-bench/rounds.h"
#include "kvcache-bench/show.h"
#include "kvcache-bench/subjects.h"

namespace attn {

int run_compare(const BenchOptions& o, cli::Session& session) {
  const std::vector<DecodeWork> work = work_of(o);
  const Index capacity = capacity_of(work);
  if (!o.output.empty()) check_output(o.output, {o.input});
  std::string history;
  CacheExperiment experiment(make_subjects(o, capacity, history), work, ways_of(o));
  BenchContext context = work_context(o, experiment);
  const Machine machine = this_machine();
  if (!o.counts_only) add_timing_context(context, session, o, machine);
  // It runs each way once, as a round does.
  const Stopwatch watch;
  const bool compared = !o.counts_only || o.verify;
  experiment.verify(compared);
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
    measure_with_progress(session, "runs",
                          [&](const auto& progress) { experiment.measure(how, progress); });
    experiment.add_yardsticks(static_cast<int>(o.threads), machine.l3_bytes);
    const Yardsticks& found = *experiment.yardsticks();
    context.emplace_back("memory_sweep_bytes", found.memory_sweep_bytes);
    context.emplace_back("memory_bytes_per_second", found.memory_bandwidth);
    context.emplace_back("sgemm_flops_per_second", found.sgemm_peak);
    for (const auto& doubt : doubts_after(experiment, machine)) session.warn(doubt);
  }
  if (!o.output.empty()) {
    write_bench_file(o, session, history, [&](Hdf5Writer& writer) {
      write_bench(writer, context, bench_columns(experiment, timed), experiment.rows());
    });
  }
  write_bench_report(
      session.report(), experiment, context,
      {o.format, headline(o, experiment), o.prompt_apart, o.counts_only, timed, compared});
  if (o.show) {
    const std::string picture =
        bench_picture(experiment, o.prompt_apart, timed, session.terminal());
    session.report().print("\n{}", picture);
  }
  session.did(fmt::format("{} {} with {}: {}", timed ? "timed" : "counted",
                          counted(std::ssize(work), "piece") + " of work",
                          counted(std::ssize(ways_of(o)), "cache"),
                          agreement_words(experiment.agreement())));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

}  // namespace attn
