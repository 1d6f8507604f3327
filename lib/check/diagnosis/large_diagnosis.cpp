#include "check/diagnosis/large_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "check/diagnosis/matcher.h"
#include "check/mistakes/suppositions.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr Index kMostRows = 256;
constexpr Index kFewestRows = 8;                // of one head, where more heads would fit
constexpr Index kMostNumbers = Index{1} << 25;  // keys and values of a part: 256 MiB
constexpr Index kMostWeights = Index{1} << 24;  // of a part that is held against a candidate
// A twisted step rounds otherwise than the plain ones that the limits come from.
constexpr double kTwistedRoom = 4;

// A supposition that fits the rows that were tried.
struct Candidate {
  std::string name;
  std::string detail;
  bool in_full = false;    // it was held against all rows
  bool confirmed = false;  // and fits them
  Check check;             // how far all rows are from it
};

// `count` of `all` that hold `wanted` somewhere in the middle.
Index start_around(Index wanted, Index count, Index all) {
  return std::clamp<Index>(wanted - count / 2, 0, all - count);
}

// Some keys on both sides of those in sight, as far as there is room for them.
void widen_keys(const AttentionProblem& outline, Index most, CasePart& part) {
  const Index spare = std::max<Index>(0, most - part.keys) / 2;
  const Index first = std::max<Index>(0, part.key - spare);
  const Index end = std::min(outline.kv_len(), part.key + part.keys + spare);
  part.key = first;
  part.keys = end - first;
}

double largest(const Tensor<double>& tensor) {
  SizeSum size;
  size.add(tensor);
  return size.size().max_error;
}

bool is_it(const Supposition& supposed, const Candidate& candidate) {
  return supposed.name == candidate.name && supposed.detail == candidate.detail;
}

// The rows of a whole sequence's heads, with all keys, some at a time.
std::vector<CasePart> parts_of_sequences(const AttentionProblem& outline) {
  const Index numbers =
      outline.kv_heads() * outline.kv_len() * (outline.head_dim() + outline.value_dim());
  if (numbers > kMostNumbers) return {};
  const Index of_row = std::max<Index>(1, outline.heads() * outline.kv_len());
  const Index rows = std::max<Index>(1, kMostWeights / of_row);
  std::vector<CasePart> parts;
  for (Index b = 0; b < outline.batch(); ++b) {
    for (Index row = 0; row < outline.q_len(); row += rows) {
      parts.push_back({b, 1, 0, outline.kv_heads(), row, std::min(rows, outline.q_len() - row), 0,
                       outline.kv_len()});
    }
  }
  return parts;
}

// What a mistaken implementation gives for a part; without maps where its steps are plain.
AttentionAnswer answer_of(const Supposition& supposed, const AttentionProblem& problem,
                          int threads) {
  if (supposed.twist != Twist::kNone) return supposed.answer(problem, threads);
  return reference_attention(supposed.as_seen(problem), false, threads);
}

// The suppositions among what was found that fit the part.
std::vector<Candidate> candidates(const Findings& of_part, const Subject& subject,
                                  const std::vector<Diagnosis>& found) {
  std::vector<Candidate> fitting;
  const Matcher matcher(of_part, subject);
  for (const Supposition& supposed : suppositions(of_part.recorded.problem)) {
    const bool wanted = std::any_of(found.begin(), found.end(), [&](const Diagnosis& one) {
      return one.kind == DiagnosisKind::kMistake && one.name == supposed.name;
    });
    if (!wanted || matcher.fit(supposed) == Matcher::Fit::kNo) continue;
    Candidate candidate;
    candidate.name = supposed.name;
    candidate.detail = supposed.detail;
    const bool known = std::any_of(fitting.begin(), fitting.end(),
                                   [&](const Candidate& other) { return is_it(supposed, other); });
    if (!known) fitting.push_back(std::move(candidate));
  }
  return fitting;
}

// Holds the candidates against out or lse of the whole case, a run of rows at a time. They stay as
// they are where one sequence's keys do not fit into memory.
void confirm(const LargeFindings& large, const Subject& subject, std::vector<Candidate>& tried) {
  const AttentionProblem& outline = large.source.outline().problem;
  const std::vector<CasePart> parts = parts_of_sequences(outline);
  const bool of_lse = subject.part == Subject::Part::kLse;
  if (parts.empty() || tried.empty() || (!of_lse && subject.part != Subject::Part::kOut)) return;
  const double all_rows = static_cast<double>(outline.batch() * outline.q_len());
  std::vector<DifferenceSum> found(tried.size());
  std::vector<double> sizes(tried.size(), 0);
  std::vector<char> complete(tried.size(), 1);
  for (const CasePart& place : parts) {
    const AttentionCase recorded = large.source.part(place);
    const Tensor<double>& given = of_lse ? *recorded.lse : *recorded.out;
    const std::vector<Supposition> all = suppositions(recorded.problem);
    for (std::size_t n = 0; n < tried.size(); ++n) {
      const auto one = std::find_if(all.begin(), all.end(), [&](const Supposition& supposed) {
        return is_it(supposed, tried[n]);
      });
      // A supposition that finds nothing to do in these rows leaves them as they should be.
      const AttentionAnswer answer =
          one != all.end() ? answer_of(*one, recorded.problem, large.threads)
                           : reference_attention(recorded.problem, false, large.threads);
      const Tensor<double>& expected = of_lse ? answer.lse : answer.out;
      if (expected.shape != given.shape) {
        complete[n] = 0;
        continue;
      }
      found[n].add(given, expected, place.origin(outline));
      sizes[n] = std::max(sizes[n], largest(expected));
    }
    large.done(static_cast<double>(place.batches * place.rows) / all_rows);
  }
  for (std::size_t n = 0; n < tried.size(); ++n) {
    if (complete[n] == 0) continue;
    // A bigger answer carries bigger errors.
    const double growth =
        kTwistedRoom * (large.truth_size > 0 ? std::max(1.0, sizes[n] / large.truth_size) : 1.0);
    tried[n].check =
        compare(tried[n].name, found[n],
                {growth * subject.allowed.max_error, growth * subject.allowed.mean_error});
    tried[n].in_full = true;
    tried[n].confirmed = tried[n].check.outcome == Outcome::kPass;
  }
}

// "causal-missing: found on 256 rows, holds on all 524,288", or where it does not.
std::string confirmation_text(const Candidate& candidate, Index rows_tried, Index all_rows) {
  std::string text = fmt::format("{}{}{}{}: found on {} rows", candidate.name,
                                 candidate.detail.empty() ? "" : " (", candidate.detail,
                                 candidate.detail.empty() ? "" : ")", grouped(rows_tried));
  if (!candidate.in_full) return text + "; all rows with all their keys are too many to try";
  if (candidate.confirmed) return text + fmt::format(", holds on all {}", grouped(all_rows));
  return text + fmt::format(", but not on all {}: off by {:.2e}, limit {:.2e}, at {}",
                            grouped(all_rows), candidate.check.max_error, candidate.check.limit,
                            place_text(candidate.check.where));
}

}  // namespace

CasePart part_to_diagnose(const AttentionCase& outline, const std::vector<Index>& worst) {
  const AttentionProblem& problem = outline.problem;
  const Index group = problem.heads() / problem.kv_heads();
  const auto place = [&worst](std::size_t axis) { return axis < worst.size() ? worst[axis] : 0; };
  const Index features = problem.head_dim() + problem.value_dim();
  const auto fits = [&](Index batches, Index kv_heads, Index rows, Index keys) {
    const Index all_rows = batches * kv_heads * group * rows;
    return all_rows <= std::max(kMostRows, group) && all_rows * keys <= kMostDiagnosed &&
           batches * kv_heads * keys * features <= kMostNumbers;
  };
  CasePart part;
  part.rows = std::min<Index>(kFewestRows, problem.q_len());
  part.batches = 1;
  part.kv_heads = 1;
  part.batch = place(0);
  part.kv_head = place(1) / group;
  part.row = start_around(place(2), part.rows, problem.q_len());
  part.keys = problem.kv_len();
  if (!fits(1, 1, part.rows, part.keys)) {
    part = with_keys_in_sight(problem, part);
    while (part.rows > 1 && !fits(1, 1, part.rows, part.keys)) {
      part.rows /= 2;
      part.row = start_around(place(2), part.rows, problem.q_len());
      part = with_keys_in_sight(problem, part);
    }
    if (!fits(1, 1, part.rows, part.keys)) return {};
    widen_keys(problem, std::min(kMostNumbers / features, kMostDiagnosed / (group * part.rows)),
               part);
    return part;
  }
  while (part.kv_heads < problem.kv_heads() && fits(1, part.kv_heads + 1, part.rows, part.keys)) {
    ++part.kv_heads;
  }
  if (part.kv_heads == problem.kv_heads()) {
    while (part.batches < problem.batch() &&
           fits(part.batches + 1, part.kv_heads, part.rows, part.keys)) {
      ++part.batches;
    }
  }
  while (part.rows < problem.q_len() &&
         fits(part.batches, part.kv_heads, part.rows + 1, part.keys)) {
    ++part.rows;
  }
  part.batch = start_around(place(0), part.batches, problem.batch());
  part.kv_head = start_around(place(1) / group, part.kv_heads, problem.kv_heads());
  part.row = start_around(place(2), part.rows, problem.q_len());
  return part;
}

std::vector<Diagnosis> diagnose_large(const LargeFindings& large,
                                      std::vector<std::string>& remarks) {
  const CasePart place = part_to_diagnose(large.source.outline(), large.worst);
  if (place.rows == 0) {
    remarks.emplace_back(
        "known mistakes were not tried: the keys of one row do not fit into memory");
    return {};
  }
  const AttentionCase part = large.source.part(place);
  const AttentionAnswer truth = reference_attention(part.problem, true, large.threads);
  const AnswerLimits& allowed = large.allowed;
  const Findings findings{part,           truth,       allowed.out,  allowed.weights,
                          allowed.scores, allowed.lse, large.verdict};
  std::vector<Diagnosis> diagnosis = diagnose(findings, large.threads);
  const std::optional<Subject> subject = choose_subject(findings);
  std::vector<Candidate> tried;
  if (subject) tried = candidates(findings, *subject, diagnosis);
  if (subject) confirm(large, *subject, tried);
  const AttentionProblem& whole = large.source.outline().problem;
  const Index all_rows = whole.batch() * whole.heads() * whole.q_len();
  for (const Candidate& one : tried) {
    remarks.push_back(confirmation_text(one, truth.lse.size(), all_rows));
  }
  if (tried.empty()) {
    remarks.push_back(fmt::format("known mistakes were tried on {} of {} rows, around {}",
                                  grouped(truth.lse.size()), grouped(all_rows),
                                  place_text(large.worst)));
  }
  return diagnosis;
}

}  // namespace attn
