#include "kvcache-bench/context.h"

#include <fmt/core.h>

#include "core/text.h"
#include "ops/gemm.h"

namespace attn {

BenchContext work_context(const BenchOptions& o, const CacheExperiment& experiment) {
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  BenchContext context;
  context.emplace_back("subject", std::string(o.input.empty() ? "layer" : "model"));
  context.emplace_back("layers", subject.layers());
  context.emplace_back("heads", subject.heads());
  if (o.input.empty()) {
    context.emplace_back("dim", o.layer.dim);
    context.emplace_back("head_dim", o.layer.head_dim);
  }
  context.emplace_back("dtype", std::string("f32"));
  return context;
}

void note_context(const cli::Session& session, const BenchOptions& o, const Machine& machine) {
  session.note(fmt::format("{} | {} {}, {}, {} thread{} | {}, L2 {}, L3 {}", cli::tool_version(),
                           build_type(), compiler(), blas_description(), o.threads,
                           o.threads == 1 ? "" : "s",
                           machine.cpu.empty() ? "unknown processor" : escaped(machine.cpu),
                           short_size_text(machine.l2_bytes), short_size_text(machine.l3_bytes)));
}

std::string headline(const BenchOptions& o, const CacheExperiment& experiment) {
  if (o.input.empty()) {
    return fmt::format("one attention layer, width {}, {} query heads of {}, f32", o.layer.dim,
                       o.layer.heads, o.layer.head_dim);
  }
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  return fmt::format("a model of {} layers, {} query heads, f32", subject.layers(),
                     subject.heads());
}

}  // namespace attn
