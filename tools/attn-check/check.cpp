#include "attn-check/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn-check/layer.h"
#include "attn-check/matrix_text.h"
#include "attn-check/report.h"
#include "attn-check/subject.h"
#include "check/case_alternatives.h"
#include "check/case_output.h"
#include "check/check_attention.h"
#include "check/layer/layer_projections.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

constexpr Index kThousand = 1000;  // what the library counts to

// What nobody said, and, where the case fails, which of it would make it pass.
void note_assumptions(const CheckSubject& subject, AttentionReport& found, int threads) {
  const std::vector<std::string>& assumed = subject.recorded.assumed;
  found.remarks.insert(found.remarks.begin(), assumed.begin(), assumed.end());
  if (found.verdict.outcome() != Outcome::kFail || subject.stored) return;
  for (const std::string& option : what_would_pass(subject.recorded, subject.attributes, threads)) {
    found.remarks.push_back(fmt::format("fails as assumed; it passes with {}", option));
  }
}

// Maps grow with q_len * kv_len, whatever the size of the file.
void check_memory(const AttentionProblem& problem, Index max_bytes) {
  // Weights and scores in float64, of the reference, the kernel and one honest answer at a time.
  constexpr Index kBytesPerWeight = 6 * 8;
  const Index extents[] = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len(),
                           kBytesPerWeight};
  const auto bytes = checked_product(extents);
  if (bytes && *bytes <= max_bytes) return;
  throw DataError(fmt::format("the maps need {}, more than --max-bytes {}",
                              bytes ? short_size_text(*bytes) : "more than can be counted",
                              short_size_text(max_bytes)),
                  {"without --maps and --show only out and lse are computed"});
}

}  // namespace

int exit_code(const Verdict& verdict) {
  return verdict.outcome() == Outcome::kFail ? cli::kNo : cli::kDone;
}

std::string checked_words(const Verdict& verdict) {
  Index made = 0;
  Index failed = 0;
  for (const Check& check : verdict.checks) {
    if (!check.counts || check.outcome == Outcome::kNotChecked) continue;
    ++made;
    failed += check.outcome == Outcome::kFail ? 1 : 0;
  }
  if (made == 0) return "";
  const std::string all = counted(made, "check");
  return failed == 0 ? ": pass, " + all : fmt::format(": fail, {} of {}", failed, all);
}

int run_case(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input});
  std::optional<TensorFile> file;
  if (!o.input.empty()) {
    file = TensorFile::open(o.input, {.max_bytes = o.max_bytes});
    if (holds_layer(*file, layer_names(o))) return run_layer(*file, o, session);
    if (!o.projection.empty()) {
      throw UsageError(fmt::format("--{} is of a layer: {} holds none", o.projection.begin()->first,
                                   file->name()));
    }
  }
  for (const char* option : {"fused-order", "rope-style", "rope-base", "rotary-dim", "pos0",
                             "qk-stage", "weights-transposed", "head-dim", "kv-proj", "qkv-proj",
                             "out-proj", "joined-heads", "layer-output"}) {
    if (!session.given(option)) continue;
    throw UsageError(fmt::format("--{} is of a layer: {}", option,
                                 file ? file->name() + " holds none" : "--input is missing"));
  }
  const bool whole = o.maps || o.show || o.tolerance;
  return check_subject(read_subject(o, Values::kNeeded,
                                    whole ? Residence::kMemory : Residence::kFile, std::move(file)),
                       o, o.input.empty(), session);
}

int check_subject(const CheckSubject& subject, const CheckOptions& o, bool steps,
                  cli::Session& session) {
  const AttentionProblem& problem = subject.recorded.problem;
  const bool small = steps && problem.batch() * problem.heads() == 1 &&
                     std::max(problem.q_len(), problem.kv_len()) <= kMostWhole;
  CheckSettings settings;
  settings.maps = o.maps || o.show || small;
  settings.threads = static_cast<int>(o.threads);
  settings.answers = !o.output.empty() || o.tolerance;
  if (settings.maps) check_memory(problem, o.max_bytes);
  const Index rows = problem.batch() * problem.heads() * problem.q_len();
  cli::Progress progress(session, rows, "rows");
  settings.progress = [&](Index done) { progress.update(rows * done / kThousand); };
  AttentionReport found = subject.stored ? check_attention(*subject.stored, settings)
                                         : check_attention(subject.recorded, settings);
  note_assumptions(subject, found, settings.threads);
  std::optional<HouseReport> houses;
  if (o.tolerance) {
    houses = ask_houses(subject.recorded, found, *o.tolerance, settings.threads);
    if (houses) decide_as(*houses, found.verdict);
  }
  if (!o.output.empty()) {
    Provenance provenance;
    provenance.command = session.history();
    provenance.earlier_history = subject.history;
    Hdf5Writer writer;
    add_answers(writer, found, o.maps, subject.recorded.layout);
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  if (session.report().wanted()) {
    print_case(subject.name, subject.recorded, found,
               {o.format, small, o.show, houses ? &*houses : nullptr}, session);
  }
  session.did("checked " + subject.name + checked_words(found.verdict));
  return exit_code(found.verdict);
}

}  // namespace attn
