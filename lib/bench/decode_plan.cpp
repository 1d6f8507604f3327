#include "bench/decode_plan.h"

#include "core/error.h"

namespace attn {

std::string_view cache_name(CacheKind kind) {
  switch (kind) {
    case CacheKind::kNone:
      return "none";
    case CacheKind::kContiguous:
      return "contiguous";
    case CacheKind::kPaged:
      return "paged";
  }
  throw ShapeError("cache: no such kind");
}

Index expected_key_rows(const DecodePlan& plan) {
  if (plan.cache != CacheKind::kNone) return plan.total;
  return (plan.first + plan.total) * plan.steps() / 2;
}

DecodeRun run_plan(DecodeSubject& subject, const DecodePlan& plan, Matrix<float> outputs) {
  require_shape(plan.first >= 1 && plan.total >= plan.first, "decode plan: no tokens");
  require_shape(outputs.rows() >= plan.steps() && outputs.cols() == subject.width(),
                "decode plan: outputs of another shape");
  DecodeRun run;
  run.counts.resize(static_cast<std::size_t>(plan.steps()));
  subject.restart(plan.cache);
  const bool cached = plan.cache != CacheKind::kNone;
  const Stopwatch watch;
  for (Index step = 0; step < plan.steps(); ++step) {
    if (cached) {
      subject.append(step == 0 ? plan.first : 1, outputs.row(step));
    } else {
      subject.recompute(plan.first + step, outputs.row(step));
    }
    StepCount& count = run.counts[static_cast<std::size_t>(step)];
    count.key_rows = subject.key_rows();
    if (cached) {
      count.cache_bytes = subject.cache_bytes();
      count.allocated_bytes = subject.allocated_bytes();
    }
    if (step == 0) run.first = watch.elapsed();
  }
  const Elapsed whole = watch.elapsed();
  run.others = {whole.wall_ns - run.first.wall_ns, whole.cpu_ns - run.first.cpu_ns};
  return run;
}

}  // namespace attn
