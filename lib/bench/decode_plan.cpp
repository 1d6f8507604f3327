#include "bench/decode_plan.h"

#include "core/error.h"

namespace attn {

DecodeRun run_plan(DecodeSubject& subject, const DecodePlan& plan, Matrix<float> outputs,
                   CountSteps when) {
  require_shape(plan.first >= 1 && plan.total >= plan.first, "decode plan: no tokens");
  require_shape(outputs.rows() >= plan.steps() && outputs.cols() == subject.width(),
                "decode plan: outputs of another shape");
  const Index steps = plan.steps();
  DecodeRun run;
  run.step_ns.resize(static_cast<std::size_t>(steps));
  run.counts.resize(static_cast<std::size_t>(steps));
  subject.restart(plan.cache);
  const auto step = [&](Index i) {
    if (plan.cache.cached()) {
      subject.append(i == 0 ? plan.first : 1, outputs.row(i));
    } else {
      subject.recompute(plan.first + i, outputs.row(i));
    }
  };
  const auto count = [&](Index i) {
    StepCount& counted = run.counts[static_cast<std::size_t>(i)];
    counted.key_rows = subject.key_rows();
    if (!plan.cache.cached()) return;
    counted.cache_bytes = subject.cache_bytes();
    counted.allocated_bytes = subject.allocated_bytes();
  };
  Stopwatch watch;
  step(0);
  run.first = watch.elapsed();
  run.step_ns[0] = run.first.wall_ns;
  count(0);
  watch.restart();
  std::int64_t before = 0;
  for (Index i = 1; i < steps; ++i) {
    step(i);
    if (when == CountSteps::kAll) count(i);
    const std::int64_t now = watch.wall_ns();
    run.step_ns[static_cast<std::size_t>(i)] = now - before;
    before = now;
  }
  if (steps > 1) run.others = watch.elapsed();
  if (steps > 1 && when == CountSteps::kFirstAndLast) count(steps - 1);
  return run;
}

}  // namespace attn
