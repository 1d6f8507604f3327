#include "bench/serving.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "bench/page_budget.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

class Server {
 public:
  Server(ServingSubject& subject, const ServingLoad& load,
         const std::vector<std::vector<Index>>& ids, const ServingSettings& settings,
         const ServingOutput& on_output)
      : subject_(subject),
        load_(load),
        ids_(ids),
        settings_(settings),
        on_output_(on_output),
        budget_(load, settings),
        cache_(subject.make_cache(load.longest, layout())),
        page_bytes_(budget_.page() * cache_.row_bytes()),
        arrived_ns_(load.requests.size()) {
    run_.steps_to_finish.resize(load.requests.size());
    run_.ns_to_finish.resize(load.requests.size());
  }

  ServingRun run() {
    begin();
    while (finished_ < load_.count()) {
      arrive();
      if (!waiting_.empty() && fits(waiting_.front())) {
        prefill();
      } else if (!running_.empty()) {
        decode();
      } else {
        require_shape(waiting_.empty(), "serving: a sequence that nothing lets in");
        step_ = std::max(step_, load_.requests[next_].arrival);
      }
    }
    run_.steps = step_;
    run_.peak_rows = cache_.most_bytes() / page_bytes_ * budget_.page();
    run_.reserved_rows += budget_.common();
    run_.ended_rows += budget_.common();
    run_.mean_waste = allocated_ > 0 ? 1 - used_ / allocated_ : 0;
    return std::move(run_);
  }

 private:
  // A sequence and how many of its new tokens it has.
  struct Waiting {
    std::size_t request;
    Index tokens = 0;
  };
  struct Running {
    std::size_t request;
    Index tokens = 0;
    Index rows = 0;  // of it, up to the last pass
    Index past = 0;  // that this pass found
  };

  KvLayout layout() const {
    KvLayout layout;
    layout.page_size = budget_.page();
    layout.most_pages = budget_.most();
    layout.k_type = settings_.types.keys;
    layout.v_type = settings_.types.values;
    layout.window = settings_.window;
    return layout;
  }

  const ServingRequest& request(std::size_t index) const { return load_.requests[index]; }
  bool has_prefix() const { return budget_.common() > 0; }

  // The shared prefix is a sequence of its own, the first, which stays.
  void begin() {
    if (!has_prefix()) {
      cache_.remove(0);
      return;
    }
    const Stopwatch watch;
    Matrix<float> output = outputs(1);
    run_.key_rows +=
        subject_.run(cache_, std::span(ids_[0]).first(static_cast<std::size_t>(budget_.common())),
                     {1, budget_.common(), nullptr}, output);
    run_.prefill += watch.elapsed();
    ++run_.prefills;
    run_.prefilled += budget_.common();
    ++step_;
    sample();
  }

  void arrive() {
    while (next_ < load_.requests.size() && request(next_).arrival <= step_) {
      arrived_ns_[next_] = run_.wall_ns();
      waiting_.push_back({next_++});
    }
  }

  // Rows that a sequence is computed to before it decodes.
  Index begin_rows(const Waiting& one) const { return request(one.request).prompt + one.tokens; }

  bool fits(const Waiting& one) const {
    if (settings_.way == ServingWay::kAlone) return running_.empty();
    Index pages = budget_.common_pages();
    if (settings_.admission == Admission::kWorstCase) {
      for (const Running& other : running_)
        pages += budget_.most_own(other.rows, other.past, request(other.request).rows());
      return pages + budget_.most_own(request(one.request)) <= budget_.most();
    }
    if (running_.empty()) return true;
    const bool grows = settings_.way != ServingWay::kContiguous;
    const Index spare = grows ? static_cast<Index>(running_.size()) : 0;
    for (const Running& other : running_) pages += budget_.own(other.rows, other.past);
    return pages + budget_.own(begin_rows(one), budget_.common()) + spare <= budget_.most();
  }

  void prefill() {
    const Waiting one = waiting_.front();
    waiting_.pop_front();
    const Index rows = begin_rows(one);
    const std::span<const Index> own =
        std::span(ids_[one.request])
            .subspan(static_cast<std::size_t>(budget_.common()),
                     static_cast<std::size_t>(rows - budget_.common()));
    const Stopwatch watch;
    if (has_prefix()) {
      std::vector<Index> parents(running_.size() + 1);
      std::iota(parents.begin(), parents.end(), Index{0});
      parents.push_back(0);
      cache_.fork(parents);
    } else {
      cache_.add();
    }
    const std::array<Index, 1> last = {cache_.sequences() - 1};
    cache_.select(last);
    const Matrix<float> output = outputs(1);
    run_.key_rows +=
        subject_.run(cache_, own, {1, static_cast<Index>(own.size()), nullptr}, output);
    run_.prefill += watch.elapsed();
    ++run_.prefills;
    run_.prefilled += static_cast<Index>(own.size());
    running_.push_back({one.request, one.tokens, rows, budget_.common()});
    run_.most_running = std::max(run_.most_running, static_cast<Index>(running_.size()));
    ++step_;
    sample();
    hand_out(running_.size() - 1, output.row(0));
    finish();
  }

  void decode() {
    while (wanted_pages() > free_pages()) preempt();
    std::vector<Index> next;
    std::vector<Index> sequences(running_.size());
    for (const Running& one : running_)
      next.push_back(ids_[one.request][static_cast<std::size_t>(one.rows)]);
    std::iota(sequences.begin(), sequences.end(), Index{has_prefix() ? 1 : 0});
    const auto batch = static_cast<Index>(running_.size());
    const Matrix<float> output = outputs(batch);
    const Stopwatch watch;
    cache_.select(sequences);
    run_.key_rows += subject_.run(cache_, next, {batch, 1, nullptr}, output);
    run_.decode += watch.elapsed();
    ++run_.decodes;
    run_.decoded += batch;
    ++step_;
    for (Running& one : running_) one.past = one.rows++;
    sample();
    for (std::size_t i = 0; i < running_.size(); ++i)
      hand_out(i, output.row(static_cast<Index>(i)));
    finish();
  }

  // Pages that one more row of each takes, less those that a window leaves.
  Index wanted_pages() const {
    Index pages = 0;
    for (const Running& one : running_)
      pages += budget_.own(one.rows + 1, one.rows) - budget_.own(one.rows, one.past);
    return pages;
  }
  Index pages_in_use() const {
    Index pages = budget_.common_pages();
    for (const Running& one : running_) pages += budget_.own(one.rows, one.past);
    return pages;
  }
  Index free_pages() const {
    return budget_.most() == 0 ? budget_.own(load_.longest, 0) : budget_.most() - pages_in_use();
  }

  void preempt() {
    const Running youngest = running_.back();
    cache_.remove(cache_.sequences() - 1);
    running_.pop_back();
    ++run_.preemptions;
    run_.recomputed += youngest.rows - budget_.common();
    waiting_.push_front({youngest.request, youngest.tokens});
  }

  void hand_out(std::size_t index, const float* output) {
    Running& one = running_[index];
    if (on_output_) on_output_(static_cast<Index>(one.request), one.tokens, output);
    ++one.tokens;
  }

  void finish() {
    for (std::size_t i = running_.size(); i-- > 0;) {
      const Running one = running_[i];
      if (one.tokens < request(one.request).new_tokens) continue;
      const Index held = cache_.bytes();
      const Index used = cache_.bytes_of_rows();
      cache_.remove(static_cast<Index>(i) + (has_prefix() ? 1 : 0));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      run_.reserved_rows += (held - cache_.bytes()) / page_bytes_ * budget_.page();
      run_.ended_rows += (used - cache_.bytes_of_rows()) / cache_.row_bytes();
      run_.steps_to_finish[one.request] = step_ - request(one.request).arrival;
      run_.ns_to_finish[one.request] = run_.wall_ns() - arrived_ns_[one.request];
      ++finished_;
    }
  }

  void sample() {
    const Index allocated = cache_.bytes();
    if (allocated != pages_in_use() * page_bytes_) run_.pages_agree = false;
    const auto whole = static_cast<double>(allocated);
    const auto used = static_cast<double>(cache_.bytes_of_rows());
    allocated_ += whole;
    used_ += used;
    run_.largest_waste = std::max(run_.largest_waste, 1 - used / whole);
  }

  Matrix<float> outputs(Index count) {
    outputs_.resize(std::max(outputs_.size(), static_cast<std::size_t>(count * subject_.width())));
    return {outputs_.data(), count, subject_.width()};
  }

  ServingSubject& subject_;
  const ServingLoad& load_;
  const std::vector<std::vector<Index>>& ids_;
  const ServingSettings& settings_;
  const ServingOutput& on_output_;
  PageBudget budget_;
  KvCache<float> cache_;
  Index page_bytes_;
  std::vector<float> outputs_;
  std::vector<std::int64_t> arrived_ns_;
  std::deque<Waiting> waiting_;
  std::vector<Running> running_;  // sequence i of the cache, or i + 1 behind a shared prefix
  std::size_t next_ = 0;          // request to arrive
  Index step_ = 0;
  Index finished_ = 0;
  double allocated_ = 0, used_ = 0;  // bytes, summed over passes
  ServingRun run_;
};

}  // namespace

std::string_view serving_way_name(ServingWay way) {
  switch (way) {
    case ServingWay::kAlone:
      return "alone";
    case ServingWay::kContiguous:
      return "contiguous";
    case ServingWay::kPaged:
      return "paged";
    case ServingWay::kShared:
      return "shared";
  }
  throw ShapeError("serving: no such way");
}

ServingRun serve(ServingSubject& subject, const ServingLoad& load,
                 const std::vector<std::vector<Index>>& ids, const ServingSettings& settings,
                 const ServingOutput& on_output) {
  const Index least = least_memory_rows(load, settings);
  if (settings.memory_rows < least) {
    throw UsageError(
        fmt::format("memory for {} rows does not hold a sequence of {}, which takes {}",
                    grouped(settings.memory_rows), grouped(load.longest), grouped(least)));
  }
  return Server(subject, load, ids, settings, on_output).run();
}

}  // namespace attn
