#include "bench/decode_plan.h"

#include "core/error.h"

namespace attn {

DecodeRun run_plan(DecodeSubject& subject, const DecodePlan& plan, Matrix<float> outputs,
                   std::span<const Index> counted) {
  require_shape(plan.first >= 1 && plan.total >= plan.first, "decode plan: no tokens");
  require_shape(outputs.rows() >= plan.steps() && outputs.cols() == subject.width(),
                "decode plan: outputs of another shape");
  const Index steps = plan.steps();
  DecodeRun run;
  run.step_ns.resize(static_cast<std::size_t>(steps));
  run.counts.reserve(counted.size());
  subject.restart(plan.cache);
  const auto step = [&](Index i) {
    if (plan.cache.cached()) {
      subject.append(i == 0 ? plan.first : 1, outputs.row(i));
    } else {
      subject.recompute(plan.first + i, outputs.row(i));
    }
  };
  const auto wanted = [&](Index i) {
    return run.counts.size() < counted.size() && counted[run.counts.size()] == i;
  };
  const auto count = [&] {
    StepCount one;
    one.key_rows = subject.key_rows();
    if (plan.cache.cached()) {
      one.cache_bytes = subject.cache_bytes();
      one.allocated_bytes = subject.allocated_bytes();
    }
    run.counts.push_back(one);
  };
  Stopwatch watch;
  step(0);
  run.first = watch.elapsed();
  run.step_ns[0] = run.first.wall_ns;
  if (wanted(0)) count();
  watch.restart();
  std::int64_t before = 0;
  for (Index i = 1; i < steps; ++i) {
    step(i);
    const std::int64_t now = watch.wall_ns();
    run.step_ns[static_cast<std::size_t>(i)] = now - before;
    before = now;
    if (i == steps - 1) run.others = watch.elapsed();
    if (wanted(i)) count();
  }
  require_shape(run.counts.size() == counted.size(), "decode plan: counts after no step of it");
  return run;
}

}  // namespace attn
