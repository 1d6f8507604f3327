#include "kvcache-bench/context.h"

#include <fmt/core.h>

#include "bench/bench_columns.h"
#include "bench/doubts.h"
#include "bench/model_subject.h"
#include "core/counted.h"
#include "core/text.h"
#include "ops/gemm.h"

namespace attn {

BenchContext work_context(const BenchOptions& o, const CacheExperiment& experiment) {
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  const auto* model = dynamic_cast<const ModelSubject*>(&subject);
  BenchContext context;
  if (!o.preset.empty()) context.emplace_back("preset", o.preset);
  context.emplace_back("subject", std::string(model == nullptr ? "layer" : "model"));
  if (!o.model.empty()) context.emplace_back("model", o.model);
  context.emplace_back("tensors", std::string(o.input.empty() ? "random" : "file"));
  context.emplace_back("layers", subject.layers());
  context.emplace_back("heads", subject.heads());
  context.emplace_back("dim", model == nullptr ? o.layer.dim : model->config().dim);
  context.emplace_back("head_dim", subject.head_dim());
  if (model != nullptr) {
    const ModelConfig& config = model->config();
    context.emplace_back("mlp_hidden", config.mlp_hidden);
    context.emplace_back("vocab_size", config.vocab_size);
    context.emplace_back("position", enum_name(config.position));
    if (o.kv_heads.size() <= 1) context.emplace_back("parameters", count_parameters(config).total);
  }
  context.emplace_back("dtype", std::string("f32"));
  context.emplace_back("seed", o.seed);
  if (o.has_cache(CacheKind::kPaged)) context.emplace_back("page_size", o.page_size);
  return context;
}

void add_timing_context(BenchContext& context, const cli::Session& session, const BenchOptions& o,
                        const Machine& machine) {
  add_machine(context, machine);
  context.emplace_back("threads", o.threads);
  session.note(fmt::format("{} | {} {}, {}, {} | {}, L2 {}, L3 {}", cli::tool_version(),
                           build_type(), compiler(), blas_description(),
                           counted(o.threads, "thread"),
                           machine.cpu.empty() ? "unknown processor" : escaped(machine.cpu),
                           short_size_text(machine.l2_bytes), short_size_text(machine.l3_bytes)));
  for (const auto& doubt : doubts_before(machine, build_type(), o.threads)) session.warn(doubt);
}

const char* agreement_words(const Agreement& agreement) {
  if (!agreement.counts) return "a count is not its formula's";
  if (!agreement.outputs) return "outputs differ";
  return agreement.any_compared() ? "counts and outputs agree" : "counts agree";
}

std::string headline(const BenchOptions& o, const CacheExperiment& experiment) {
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  std::string text;
  if (const auto* model = dynamic_cast<const ModelSubject*>(&subject)) {
    std::string name = "a checkpoint's model";
    if (o.input.empty()) {
      name = o.model.empty() ? "a model of random tensors" : o.model + ", random tensors";
    }
    text = fmt::format("{}: {} of width {}, {} of {}, f32", name,
                       counted(subject.layers(), "layer"), model->config().dim,
                       counted(subject.heads(), "query head"), subject.head_dim());
    // Fewer key-value heads have fewer.
    if (o.kv_heads.size() <= 1) {
      text += fmt::format(", {} parameters", grouped(count_parameters(model->config()).total));
    }
  } else {
    text = fmt::format("one attention layer, width {}, {} of {}, f32", o.layer.dim,
                       counted(o.layer.heads, "query head"), o.layer.head_dim);
  }
  if (subject.window() > 0) text += fmt::format(", window of {}", grouped(subject.window()));
  if (o.has_cache(CacheKind::kPaged)) text += fmt::format(", pages of {}", grouped(o.page_size));
  return text;
}

}  // namespace attn
