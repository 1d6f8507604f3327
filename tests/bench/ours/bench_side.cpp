// Our side of tests/bench/bench.py: a workload that stays in one process and is timed whenever a
// line says so, so that another program's runs can come between.
//
//   printf 'run\nrun\n' | bench_side layer dim=64 heads=4 cache=paged
//   printf 'peak 2\nread 48000000 2\n' | bench_side yardsticks
//
// Each line is answered by one line of JSON.

#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>

#include "bench/machine.h"
#include "bench/stopwatch.h"
#include "bench/yardsticks.h"
#include "core/error.h"
#include "ops/gemm.h"
#include "workload.h"

namespace {

using namespace attn;

std::unique_ptr<Workload> make(const std::string& name, Settings& settings) {
  if (name == "training") return training_workload(settings);
  if (name == "attention") return attention_workload(settings);
  if (name == "layer") return layer_workload(settings);
  if (name == "decode") return decode_workload(settings);
  if (name == "yardsticks") return nullptr;
  throw UsageError("no such workload: " + name);
}

// Most bytes this process ever had in memory.
Index peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<Index>(usage.ru_maxrss) * 1024;
}

std::string run(Workload* workload) {
  if (workload == nullptr) throw UsageError("yardsticks answer to peak and read");
  const Stopwatch watch;
  const Seconds seconds = workload->sample();
  const double cpu = static_cast<double>(watch.elapsed().cpu_ns) * 1e-9;
  std::string parts;
  for (const auto& [what, spent] : seconds) {
    parts += fmt::format("{}\"{}\":{}", parts.empty() ? "" : ",", what, spent);
  }
  return fmt::format("{{\"seconds\":{{{}}},\"cpu\":{},\"peak_bytes\":{}}}", parts, cpu,
                     peak_bytes());
}

std::string answer(const std::string& line, Workload* workload) {
  std::istringstream words(line);
  std::string what;
  Index first = 1;
  Index second = 1;
  words >> what >> first >> second;
  if (what == "run") return run(workload);
  if (what == "peak") return fmt::format("{{\"rate\":{}}}", sgemm_peak(static_cast<int>(first)));
  if (what == "read") {
    return fmt::format("{{\"rate\":{}}}", read_bandwidth(first, static_cast<int>(second)));
  }
  throw UsageError("a line is run, peak THREADS or read BYTES THREADS: " + line);
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw UsageError("which workload");
    Settings settings(std::vector<std::string>(argv + 2, argv + argc));
    const Index before = peak_bytes();
    const std::unique_ptr<Workload> workload = make(argv[1], settings);
    settings.require_all_read();
    say(fmt::format("{{\"version\":\"{}\",\"blas\":\"{}\",\"build\":\"{}\",\"base_bytes\":{}}}",
                    ATTNTOOLS_VERSION, blas_description(), build_type(), before));
    for (std::string line; std::getline(std::cin, line);) say(answer(line, workload.get()));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_side: {}\n", error.what());
    return 2;
  }
}
