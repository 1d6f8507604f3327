#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/agreement.h"
#include "bench/interleave.h"
#include "bench/samples.h"
#include "bench/serving.h"

namespace attn {

/// The share of sequences that are finished by the time of each: half, nine of ten, all.
inline constexpr double kFinishShares[] = {0.5, 0.9, 1.0};

/// One line of the report: the same load, served in one way.
struct ServingRow {
  ServingSettings settings;
  ServingRun run;  // of the run that verified; its times are not to be used
  Index key_rows_expected = 0;
  std::string formula;  // "sum of P+N-1"

  /// Largest difference of an output from that of the sequence alone; none for that way itself.
  std::optional<double> max_difference;
  /// Nanoseconds, a number per timed round; empty before they were measured.
  Samples wall, prefill, decode, cpu;
  Samples finish[3];  // see kFinishShares

  /// Prompt tokens a second of prefill, tokens a second of decoding (the first of each sequence is
  /// the prefill's), new tokens a second of both.
  double prompt_rate() const;
  double decode_rate(const ServingLoad& load) const;
  double total_rate(const ServingLoad& load) const;
  /// Steps in which the share of sequences is finished.
  double steps_to_finish(double share) const;
  /// 1 - rows / room for rows, of all sequences as they end; with a window rows that it still sees.
  double waste_at_end() const;
};

/// A load served in several ways: rows counted, outputs compared with those of each sequence alone,
/// times taken.
class ServingExperiment {
 public:
  /// ways: without kAlone, which is always the first; all store numbers as the same types.
  ServingExperiment(std::unique_ptr<ServingSubject> subject, ServingLoad load,
                    const std::vector<ServingSettings>& ways, std::uint64_t seed);

  /// Runs every way once, counts rows and pages and, with `outputs`, compares them.
  void verify(bool outputs = true);
  /// Takes times: all ways in interleaved rounds. progress(done, all) may be empty.
  void measure(const Interleaving& how, const std::function<void(Index, Index)>& progress);

  const ServingLoad& load() const { return load_; }
  const std::vector<ServingRow>& rows() const { return rows_; }
  const Agreement& agreement() const { return agreement_; }
  /// Of how many outputs of a sequence one was compared: 1 is all; more of what memory cannot hold.
  /// The last of each is always.
  Index compared_one_in() const { return stride_; }

 private:
  std::optional<Index> place(Index request, Index token) const;
  void compare_storage(const std::vector<float>& outputs);

  std::unique_ptr<ServingSubject> subject_;
  ServingLoad load_;
  std::vector<std::vector<Index>> ids_;
  std::vector<ServingRow> rows_;
  Agreement agreement_;
  Index stride_ = 1;
  std::vector<Index> first_;  // of each request, among the outputs that are kept
};

}  // namespace attn
