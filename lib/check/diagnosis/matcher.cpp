#include "check/diagnosis/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A twisted step rounds otherwise than the plain ones that the limits come from.
constexpr double kTwistedRoom = 4;
// Beyond this many times the limit, or this part of the answer, no other rounding explains a
// difference.
constexpr double kHopeless = 1000;
constexpr double kHopelessPart = 0.05;
constexpr double kHopelessShort = 0.5;  // where large scores are rounded to 16 bits
// Rows that every supposition is tried on first: the worst, and some from all over.
constexpr Index kWorstRows = 4;
constexpr Index kSpreadRows = 8;
constexpr double kNearer = 0.5;
constexpr Index kRowsOfHead = 4;
constexpr Index kSpreadSequences = 2;
constexpr std::size_t kMostTold = 6;

double largest(const double* values, Index count) {
  double size = 0;
  for (Index n = 0; n < count; ++n) {
    if (std::isfinite(values[n])) size = std::max(size, std::abs(values[n]));
  }
  return size;
}

bool is_short(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

double gap(double given, double expected) {
  if (given == expected || (std::isnan(given) && std::isnan(expected))) return 0;
  const double error = std::abs(given - expected);
  return std::isnan(error) ? kInfinity : error;
}

double largest_gap(const double* given, const double* expected, Index count) {
  double error = 0;
  for (Index n = 0; n < count; ++n) error = std::max(error, gap(given[n], expected[n]));
  return error;
}

const double* part_of(const AttentionRow& row, Subject::Part part) {
  switch (part) {
    case Subject::Part::kOut:
      return row.out.data();
    case Subject::Part::kWeights:
      return row.weights.data();
    case Subject::Part::kScores:
      return row.scores.data();
    case Subject::Part::kLse:
      break;
  }
  return &row.lse;
}

bool all_are(const double* values, Index count, bool (*what)(double)) {
  return std::all_of(values, values + count, what);
}

}  // namespace

Matcher::Matcher(const Findings& findings, const Subject& subject)
    : findings_(findings), subject_(subject), truth_size_(largest(truth().data(), truth().size())) {
  const double limit = subject.allowed.max_error;
  const double part =
      is_short(findings.recorded.problem.rules.dtype) ? kHopelessShort : kHopelessPart;
  too_far_ = std::max(kTwistedRoom * limit, std::min(kHopeless * limit, part * truth_size_));
  truth_ratio_ = compare("", subject.given, truth(), subject.allowed).ratio();
  choose_rows();
}

const Tensor<double>& Matcher::truth() const {
  return part_of(findings_.truth, subject_.part);
}

void Matcher::choose_rows() {
  const AttentionProblem& problem = findings_.recorded.problem;
  const Index all = problem.batch() * problem.heads() * problem.q_len();
  if (all == 0) return;
  const Index each = truth().size() / all;
  std::vector<double> errors(static_cast<std::size_t>(all));
  for (Index row = 0; row < all; ++row) {
    errors[static_cast<std::size_t>(row)] =
        largest_gap(subject_.given.data() + row * each, truth().data() + row * each, each);
  }
  std::vector<Index> order(static_cast<std::size_t>(all));
  std::iota(order.begin(), order.end(), Index{0});
  const auto worst = order.begin() + std::min(all, kWorstRows);
  std::partial_sort(order.begin(), worst, order.end(), [&](Index a, Index b) {
    const double first = errors[static_cast<std::size_t>(a)];
    const double second = errors[static_cast<std::size_t>(b)];
    return first != second ? first > second : a < b;
  });
  std::vector<Index> chosen(order.begin(), worst);
  const Index spread = std::min(all, kSpreadRows);
  for (Index n = 0; n < spread; ++n) chosen.push_back((2 * n + 1) * all / (2 * spread));
  for (const Index row : chosen) {
    const Index head = row / problem.q_len();
    rows_.push_back({head / problem.heads(), head % problem.heads(), row % problem.q_len()});
  }
}

// Rows that see nothing under the supposition but something in truth: whoever made the mistake may
// have given zeros, NaN or the mean of the values.
void Matcher::forgive_dead_row(const AttentionProblem& seen, const Row& row, const double* given,
                               double* expected, Index count) const {
  const bool zeros = all_are(given, count, [](double value) { return value == 0; });
  const bool nans = all_are(given, count, [](double value) { return std::isnan(value); });
  if (zeros || nans) {
    std::copy_n(given, count, expected);
    return;
  }
  const Index keys = findings_.recorded.problem.kv_len();
  if (subject_.part == Subject::Part::kWeights) {
    std::fill_n(expected, count, 1.0 / static_cast<double>(keys));
    return;
  }
  std::fill_n(expected, count, 0.0);
  if (seen.kv_len() < keys || count != seen.value_dim()) return;
  for (Index j = 0; j < keys; ++j) {
    const double* value = seen.v_row(row.b, seen.kv_head_of(row.h), j);
    for (Index c = 0; c < count; ++c) expected[c] += value[c] / static_cast<double>(keys);
  }
}

void Matcher::forgive_dead_rows(const AttentionProblem& seen, AttentionAnswer& answer) const {
  if (subject_.part != Subject::Part::kOut && subject_.part != Subject::Part::kWeights) return;
  Tensor<double>& expected = subject_.part == Subject::Part::kOut ? answer.out : answer.weights;
  const Index rows = answer.lse.size();
  if (rows == 0 || expected.size() != subject_.given.size()) return;
  const Index each = expected.size() / rows;
  const Index queries = findings_.recorded.problem.q_len();
  const Index heads = findings_.recorded.problem.heads();
  for (Index at = 0; at < rows; ++at) {
    if (answer.lse.data()[at] != -kInfinity) continue;
    if (findings_.truth.lse.data()[at] == -kInfinity) continue;
    const Index head = at / queries;
    forgive_dead_row(seen, {head / heads, head % heads, at % queries},
                     subject_.given.data() + at * each, expected.data() + at * each, each);
  }
}

double Matcher::row_error(const AttentionProblem& seen, const TwistedAttention& twisted,
                          const Row& row, AttentionRow& expected) const {
  const AttentionProblem& problem = findings_.recorded.problem;
  twisted.row(row.b, row.h, row.i, expected);
  const Index at = (row.b * problem.heads() + row.h) * problem.q_len() + row.i;
  const Index each = truth().size() / (problem.batch() * problem.heads() * problem.q_len());
  const double* given = subject_.given.data() + at * each;
  const bool newly_dead =
      expected.lse == -kInfinity && findings_.truth.lse.data()[at] != -kInfinity;
  if (newly_dead && subject_.part == Subject::Part::kOut) {
    forgive_dead_row(seen, row, given, expected.out.data(), each);
  }
  if (newly_dead && subject_.part == Subject::Part::kWeights) {
    forgive_dead_row(seen, row, given, expected.weights.data(), each);
  }
  return largest_gap(given, part_of(expected, subject_.part), each);
}

bool Matcher::hopeless(const AttentionProblem& seen, const TwistedAttention& twisted) const {
  AttentionRow expected;
  for (const Row& row : rows_) {
    const double error = row_error(seen, twisted, row, expected);
    if (error <= too_far_) continue;
    // A bigger answer carries bigger errors.
    const Index each =
        subject_.part == Subject::Part::kOut
            ? static_cast<Index>(expected.out.size())
            : (subject_.part == Subject::Part::kLse ? 1
                                                    : static_cast<Index>(expected.weights.size()));
    const double size = largest(part_of(expected, subject_.part), each);
    const double growth = truth_size_ > 0 ? std::max(1.0, size / truth_size_) : 1;
    if (!(error <= too_far_ * growth)) return true;
  }
  return false;
}

double Matcher::distance(const AttentionProblem& seen, Twist twist, double parameter) const {
  return mean_error(seen, TwistedAttention(seen, twist, parameter), rows_);
}

double Matcher::distance_of_head(const AttentionProblem& seen, Index h) const {
  std::vector<Row> rows;
  for (Index b = 0; b < std::min(seen.batch(), kSpreadSequences); ++b) {
    for (Index n = 1; n <= kRowsOfHead; ++n)
      rows.push_back({b, h, (seen.q_len() * n - 1) / kRowsOfHead});
  }
  return mean_error(seen, TwistedAttention(seen, Twist::kNone, 0), rows);
}

double Matcher::mean_error(const AttentionProblem& seen, const TwistedAttention& twisted,
                           const std::vector<Row>& rows) const {
  AttentionRow expected;
  double sum = 0;
  for (const Row& row : rows) {
    sum += std::min(row_error(seen, twisted, row, expected), std::max(truth_size_, 1e-300));
  }
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

Matcher::Fit Matcher::fit(const Supposition& supposed) const {
  return fit(findings_.recorded.problem, supposed);
}

Matcher::Fit Matcher::fit(const AttentionProblem& problem, const Supposition& supposed) const {
  const AttentionProblem seen = supposed.as_seen(problem);
  const TwistedAttention twisted(seen, supposed.twist, supposed.parameter);
  const bool maps_differ = seen.kv_len() != findings_.recorded.problem.kv_len();
  if (maps_differ && subject_.part != Subject::Part::kOut && subject_.part != Subject::Part::kLse)
    return Fit::kNo;
  // Limits that a truth of zeros alone sets are 0 for every number.
  const bool zeros = truth_size_ == 0;
  if (!zeros && twisted.by_rows() && hopeless(seen, twisted)) return Fit::kNo;
  AttentionAnswer answer = twisted.all(1);
  forgive_dead_rows(seen, answer);
  const Tensor<double>& expected = part_of(answer, subject_.part);
  if (expected.shape != subject_.given.shape) return Fit::kNo;
  const double size = largest(expected.data(), expected.size());
  const double growth = zeros ? 1.0 : std::max(1.0, size / truth_size_);
  const Limits grown =
      zeros ? LimitFinder(expected, seen.rules.dtype).limits()
            : Limits{subject_.allowed.max_error * growth, subject_.allowed.mean_error * growth};
  const Check check = compare("", subject_.given, expected, grown);
  const double ratio = check.ratio();
  bool fits = check.outcome == Outcome::kPass;
  if (!fits && supposed.twist != Twist::kNone) fits = ratio <= kTwistedRoom;
  if (!fits && supposed.twist == Twist::kNone && ratio <= kHopeless) {
    fits = compare("", subject_.given, expected, honest(seen, expected)).outcome == Outcome::kPass;
  }
  // Near the limit much is near: what is supposed has to come nearer than the truth does.
  if (!fits || ratio > kNearer * truth_ratio_) return Fit::kNo;
  return !maps_differ && explains_the_rest(answer) ? Fit::kAll : Fit::kSubject;
}

Limits Matcher::honest(const AttentionProblem& seen, const Tensor<double>& expected) const {
  const DType dtype = seen.rules.dtype;
  LimitFinder finder(expected, dtype);
  for (PlainOrder order : kPlainOrders) {
    const bool maps =
        subject_.part == Subject::Part::kWeights || subject_.part == Subject::Part::kScores;
    finder.add(part_of(plain_attention(seen, dtype, order, false, maps, 1), subject_.part));
    if (!is_short(dtype)) continue;
    finder.add(part_of(plain_attention(seen, dtype, order, true, maps, 1), subject_.part));
  }
  return finder.limits();
}

bool Matcher::explains_the_rest(const AttentionAnswer& answer) const {
  const AttentionCase& recorded = findings_.recorded;
  const auto near = [](const Tensor<double>& given, const Tensor<double>& expected,
                       const Limits& allowed) {
    if (given.shape != expected.shape) return false;
    const double growth = std::max(1.0, largest(expected.data(), expected.size()));
    return compare("", given, expected,
                   {kTwistedRoom * growth * allowed.max_error,
                    kTwistedRoom * growth * allowed.mean_error})
               .outcome != Outcome::kFail;
  };
  if (recorded.weights && !near(*recorded.weights, answer.weights, findings_.of_weights))
    return false;
  if (recorded.lse && !near(*recorded.lse, answer.lse, findings_.of_lse)) return false;
  if (!recorded.scores || recorded.scores_stage != ScoreStage::kMasked) return true;
  return near(comparable_scores(*recorded.scores, answer.scores), answer.scores,
              findings_.of_scores);
}

std::string Matcher::moved_rows(const Supposition& supposed) const {
  const AttentionProblem& problem = findings_.recorded.problem;
  const AttentionProblem seen = supposed.as_seen(problem);
  const TwistedAttention twisted(seen, supposed.twist, supposed.parameter);
  if (!twisted.by_rows()) return "";
  const Index all = problem.batch() * problem.heads() * problem.q_len();
  const Index each = all > 0 ? truth().size() / all : 0;
  AttentionRow expected;
  std::vector<std::string> moved;
  std::size_t count = 0;
  for (Index at = 0; at < all; ++at) {
    const Index head = at / problem.q_len();
    const Row row{head / problem.heads(), head % problem.heads(), at % problem.q_len()};
    twisted.row(row.b, row.h, row.i, expected);
    const double error =
        largest_gap(part_of(expected, subject_.part), truth().data() + at * each, each);
    if (error <= subject_.allowed.max_error) continue;
    if (++count <= kMostTold) moved.push_back(fmt::format("({}, {}, {})", row.b, row.h, row.i));
  }
  if (count == 0) return "";
  std::string text = count == 1 ? "row " : "rows ";
  for (std::size_t n = 0; n < moved.size(); ++n) text += (n > 0 ? ", " : "") + moved[n];
  if (count > moved.size()) text += fmt::format(" and {} more", count - moved.size());
  return text;
}

}  // namespace attn
