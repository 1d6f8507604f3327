#include "bench/cache_experiment.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

Elapsed time_of(const CacheRow& row, const DecodeRun& run, bool one_pass) {
  const bool decode_has_all = row.work.prompt == 0 && !one_pass;
  Elapsed time;
  if (row.phase != "decode" || decode_has_all) time += run.first;
  if (row.phase != "prefill") time += run.others;
  return time;
}

std::vector<float> rows_for(Index rows, Index width) {
  return std::vector<float>(static_cast<std::size_t>(rows * width));
}

}  // namespace

CacheExperiment::CacheExperiment(std::vector<std::unique_ptr<DecodeSubject>> subjects,
                                 std::vector<DecodeWork> work, std::vector<CacheWay> caches)
    : subjects_(std::move(subjects)), work_(std::move(work)), caches_(std::move(caches)) {
  for (Index s = 0; s < static_cast<Index>(subjects_.size()); ++s) {
    for (const DecodeWork& one : work_) {
      for (const CacheWay& cache : caches_) {
        if (one.prompt == 0 && cache.cached()) add_way(s, one, cache, true);
        add_way(s, one, cache, false);
      }
    }
  }
}

void CacheExperiment::add_way(Index index, const DecodeWork& work, const CacheWay& cache,
                              bool one_pass) {
  Way way;
  way.subject = index;
  way.work = work;
  way.plan = {cache, one_pass ? work.total() : work.first(), work.total()};
  way.one_pass = one_pass;
  way.first_row = rows_.size();
  const auto add_row = [&](std::string_view phase, Index tokens) {
    const KeyRowFormula formula = key_row_formula(phase, cache.cached(), work);
    CacheRow row;
    row.phase = std::string(phase);
    row.subject = index;
    row.kv_heads = subject(index).kv_heads();
    row.cache = cache;
    row.work = work;
    row.tokens = tokens;
    row.key_rows_expected = formula.rows;
    row.formula = std::string(formula.text);
    rows_.push_back(std::move(row));
  };
  if (work.prompt == 0) {
    add_row(one_pass ? "prefill" : "decode", work.new_tokens);
  } else {
    add_row("prefill", work.prompt);
    if (work.new_tokens > 1) add_row("decode", work.new_tokens - 1);
    add_row("total", work.new_tokens);
  }
  way.row_count = rows_.size() - way.first_row;
  ways_.push_back(way);
}

void CacheExperiment::verify(bool outputs) {
  std::vector<Index> prompts;
  for (const DecodeWork& one : work_) {
    if (std::find(prompts.begin(), prompts.end(), one.prompt) == prompts.end())
      prompts.push_back(one.prompt);
  }
  for (Index s = 0; s < static_cast<Index>(subjects_.size()); ++s) {
    for (const Index prompt : prompts) verify_group(s, prompt, outputs);
  }
}

// What the ways of one subject and prompt give, step by step, of the longest work.
struct CacheExperiment::Group {
  // What the first way of each pair of types gave, by which the others are judged.
  struct Reference {
    KvTypes types;
    std::vector<float> outputs;
  };

  Index subject;
  Index prompt;
  Index first;  // tokens of the first step, and of all
  Index total;
  Index width;
  std::vector<Reference> references = {};

  Index steps() const { return total - first + 1; }
  bool has(const Way& way) const { return way.subject == subject && way.work.prompt == prompt; }
  const Reference* find(const KvTypes& types) const {
    for (const Reference& one : references) {
      if (one.types == types) return &one;
    }
    return nullptr;
  }
  Matrix<const float> all(const std::vector<float>& outputs) const {
    return {outputs.data(), steps(), width};
  }
  // After so many tokens in all.
  Matrix<const float> after(const std::vector<float>& outputs, Index tokens) const {
    return {outputs.data() + (tokens - first) * width, 1, width};
  }
};

// All work of one prompt: the longest is run, the others are its beginnings.
void CacheExperiment::verify_group(Index index, Index prompt, bool compare) {
  DecodeWork longest{prompt, 0};
  for (const DecodeWork& one : work_) {
    if (one.prompt == prompt) longest.new_tokens = std::max(longest.new_tokens, one.new_tokens);
  }
  Group group{index, prompt, longest.first(), longest.total(), subject(index).width()};
  for (const CacheWay& cache : caches_) verify_steps(group, cache, compare);
  for (const Way& way : ways_) {
    if (group.has(way) && way.one_pass) verify_one_pass(group, way, compare);
  }
  if (compare) compare_storage(group);
  set_costs(index, prompt);
}

void CacheExperiment::verify_steps(Group& group, const CacheWay& cache, bool compare) {
  DecodeSubject& one = subject(group.subject);
  std::vector<const Way*> ways;
  std::vector<Index> ends = {0};  // steps
  for (const Way& way : ways_) {
    if (!group.has(way) || way.one_pass || !(way.plan.cache == cache)) continue;
    ways.push_back(&way);
    ends.push_back(way.plan.steps() - 1);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<float> outputs = rows_for(group.steps(), group.width);
  const DecodeRun done = run_plan(one, {cache, group.first, group.total},
                                  {outputs.data(), group.steps(), group.width}, ends);
  std::optional<OutputDifference> found;
  const Group::Reference* const reference = group.find(cache.types);
  if (compare && reference != nullptr)
    found = output_difference(group.all(reference->outputs), group.all(outputs));
  // One layer that goes step by step is given the same numbers by all ways, and so stores the same.
  const double share = one.layers() == 1 ? kOutputBound : output_bound(cache.types);
  for (const Way* way : ways) {
    const auto end = std::lower_bound(ends.begin(), ends.end(), way->plan.steps() - 1);
    set_counts(*way, done.counts.front(),
               done.counts[static_cast<std::size_t>(end - ends.begin())]);
    if (found) set_difference(*way, *found, share);
  }
  if (compare && reference == nullptr)
    group.references.push_back({cache.types, std::move(outputs)});
}

void CacheExperiment::verify_one_pass(const Group& group, const Way& way, bool compare) {
  std::vector<float> last = rows_for(1, group.width);
  constexpr Index kOnly[] = {0};
  const DecodeRun done =
      run_plan(subject(group.subject), way.plan, {last.data(), 1, group.width}, kOnly);
  set_counts(way, done.counts.front(), done.counts.front());
  if (!compare) return;
  const Group::Reference& reference = *group.find(way.plan.cache.types);
  set_difference(way,
                 output_difference(group.after(reference.outputs, way.plan.total),
                                   {last.data(), 1, group.width}),
                 output_bound(way.plan.cache.types));
}

// What storing as each pair of types says does to the outputs.
void CacheExperiment::compare_storage(Group& group) {
  const bool all_exact = std::all_of(group.references.begin(), group.references.end(),
                                     [](const Group::Reference& one) { return one.types.exact(); });
  if (all_exact) return;
  if (group.find({}) == nullptr) {
    group.references.push_back({KvTypes{}, rows_for(group.steps(), group.width)});
    run_plan(subject(group.subject), {CacheKind::kContiguous, group.first, group.total},
             {group.references.back().outputs.data(), group.steps(), group.width}, {});
  }
  const Group::Reference& exact = *group.find({});
  for (const Group::Reference& one : group.references) {
    if (one.types.exact()) continue;
    const double error =
        output_difference(group.all(exact.outputs), group.all(one.outputs)).share();
    for (const Way& way : ways_) {
      if (group.has(way) && way.plan.cache.types == one.types) set_storage_error(way, error);
    }
  }
}

void CacheExperiment::set_counts(const Way& way, StepCount first, StepCount last) {
  for (std::size_t r = way.first_row; r < way.first_row + way.row_count; ++r) {
    CacheRow& row = rows_[r];
    const bool after_prefill = row.phase == "decode" && row.work.prompt > 0;
    const StepCount end = row.phase == "prefill" ? first : last;
    row.key_rows = end.key_rows - (after_prefill ? first.key_rows : 0);
    row.cache_bytes = end.cache_bytes;
    row.allocated_bytes = end.allocated_bytes;
    if (row.key_rows != row.key_rows_expected) agreement_.counts = false;
  }
}

void CacheExperiment::set_difference(const Way& way, const OutputDifference& found, double share) {
  for (std::size_t r = way.first_row; r < way.first_row + way.row_count; ++r) {
    rows_[r].max_difference = found.largest;
  }
  agreement_.add(way.plan.cache.types, found.largest, share * found.largest_output);
}

void CacheExperiment::set_storage_error(const Way& way, double error) {
  for (std::size_t r = way.first_row; r < way.first_row + way.row_count; ++r) {
    rows_[r].storage_error = error;
  }
  agreement_.add_storage_error(way.plan.cache.types, error);
}

void CacheExperiment::measure(const Interleaving& how,
                              const std::function<void(Index, Index)>& progress) {
  const auto ways = static_cast<Index>(ways_.size());
  const Index all = ways * (how.warmup + how.repeats);
  Index done = 0;
  std::vector<float> outputs;
  run_interleaved(ways, how, [&](Index index, bool timed) {
    const Way& way = ways_[static_cast<std::size_t>(index)];
    DecodeSubject& one = subject(way.subject);
    const Index steps = way.plan.steps();
    const auto size = static_cast<std::size_t>(steps * one.width());
    if (outputs.size() < size) outputs.resize(size);
    const std::vector<Index> ends =
        steps > 1 ? std::vector<Index>{0, steps - 1} : std::vector<Index>{0};
    const DecodeRun run = run_plan(one, way.plan, {outputs.data(), steps, one.width()}, ends);
    set_counts(way, run.counts.front(), run.counts.back());
    for (std::size_t r = way.first_row; timed && r < way.first_row + way.row_count; ++r) {
      const Elapsed time = time_of(rows_[r], run, way.one_pass);
      CacheRow& row = rows_[r];
      row.wall.add(time.wall_ns);
      row.cpu.add(time.cpu_ns);
      if (row.phase != "decode") continue;
      const std::size_t first = row.work.prompt > 0 ? 1 : 0;
      row.steps.resize(run.step_ns.size() - first);
      for (std::size_t i = 0; i < row.steps.size(); ++i) row.steps[i].add(run.step_ns[first + i]);
    }
    if (progress) progress(++done, all);
  });
}

}  // namespace attn
