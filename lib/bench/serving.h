#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "bench/kv_types.h"
#include "bench/serving_load.h"
#include "bench/serving_subject.h"
#include "bench/stopwatch.h"

namespace attn {

/// How the sequences share the memory.
enum class ServingWay {
  kAlone,       // one after another, each with the whole memory to itself
  kContiguous,  // together, each reserving rows for the longest
  kPaged,       // together, pages taken as they are needed
  kShared,      // paged, the pages that the common prefix fills held once
};

std::string_view serving_way_name(ServingWay way);

/// When a waiting sequence may enter, first come first served.
enum class Admission {
  kWorstCase,  // when all that it will ever need is free beside what the others will need: this
               // knows how much will be generated, and the pool never runs out
  kPreempt,    // when its prompt fits and each running one could take one more page. Where the pool
               // then runs out, the youngest gives its pages back, waits at the front and is
               // computed again: as one serves who cannot know
};

struct ServingSettings {
  ServingWay way = ServingWay::kPaged;
  Index page_size = kPageRows;
  Index memory_rows = 0;  // of keys and values that the memory holds; of no meaning to one alone
  Admission admission = Admission::kWorstCase;
  KvTypes types;
  /// Keys that a token sees, itself among them, where the subject has such a window: pages that
  /// hold earlier rows alone are given back as the next pass of their sequence begins. 0: all.
  Index window = 0;
};

/// Rows of the common prefix that whole pages hold: those that are shared.
Index shared_rows(const ServingLoad& load, Index page_size);

/// What happened. A step is one pass: a prompt's prefill, or one more token for all that run.
struct ServingRun {
  Index prefills = 0;   // passes
  Index decodes = 0;    // passes
  Index prefilled = 0;  // rows of prompts, those of sequences that come back among them
  Index decoded = 0;    // rows: one a sequence and pass
  Index most_running = 0;
  Index preemptions = 0;
  Index recomputed = 0;  // rows that were given up, and so computed once more
  Index steps = 0;       // of the clock: passes, and waiting for arrivals

  Index key_rows = 0;        // by the layers' counter
  bool pages_agree = true;   // did the pool hold, after each pass, as many pages as the plan says?
  Index peak_rows = 0;       // room of the most pages that the pool ever had in use
  Index reserved_rows = 0;   // rows' room that sequences held as they ended, what they share once
  Index ended_rows = 0;      // of these, those that held something
  double mean_waste = 0;     // share of allocated bytes that hold nothing, over all passes
  double largest_waste = 0;  // after one pass

  Elapsed prefill, decode;
  // From arrival to the last token, by request.
  std::vector<Index> steps_to_finish;
  std::vector<std::int64_t> ns_to_finish;

  double mean_running() const {
    return decodes == 0 ? 0 : static_cast<double>(decoded) / static_cast<double>(decodes);
  }
  std::int64_t wall_ns() const { return prefill.wall_ns + decode.wall_ns; }
};

/// Rows that the memory must hold for any one of the sequences, in whole pages.
Index least_memory_rows(const ServingLoad& load, const ServingSettings& settings);

/// What comes of token `token` (0 is the prompt's) of a request: (width) numbers.
using ServingOutput = std::function<void(Index request, Index token, const float* output)>;

/// Serves them all. ids: serving_ids(). Throws UsageError where the memory does not
/// hold the longest sequence. on_output may be empty.
ServingRun serve(ServingSubject& subject, const ServingLoad& load,
                 const std::vector<std::vector<Index>>& ids, const ServingSettings& settings,
                 const ServingOutput& on_output);

}  // namespace attn
