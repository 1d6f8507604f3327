// The lines: vllm-project/vllm vllm/v1/core/kv_cache_utils.py, sgl-project/sglang
// python/sglang/srt/mem_cache/memory_pool.py, ggml-org/llama.cpp src/llama-kv-cache.cpp (and its
// older "KV self size"); examples in lmstudio-bug-tracker#1862 and qualcomm/GenieX#1346.
#include "sizing/server_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/text.h"

namespace attn {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;

struct Number {
  double value = 0.0;
  double step = 1.0;  // what its last digit stands for
};

// The number behind `before`, with thousands commas or a fraction.
std::optional<Number> number_after(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  std::string digits;
  double step = 1.0;
  bool fraction = false;
  for (const char c : line.substr(at + before.size())) {
    if (c == ',' || (c == ' ' && digits.empty())) continue;
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (c < '0' || c > '9') {
      break;
    } else if (fraction) {
      step /= 10.0;
    }
    digits += c;
  }
  Number number{.step = step};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (digits.empty() || error != std::errc{} || number.value > 1e15) return std::nullopt;
  return number;
}

// The word inside the parentheses behind `before`: K (f16).
std::string word_after(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, std::min<std::size_t>(rest.find(')'), 16)));
}

void read_vllm(LogFigure& figure, std::string_view line, std::vector<LogFigure>& found) {
  figure.engine = LogFigure::Engine::kVllm;
  if (const auto tokens = number_after(line, "GPU KV cache size:")) {
    figure.tokens = static_cast<Index>(tokens->value);
    found.push_back(figure);
  } else if (const auto memory = number_after(line, "Available KV cache memory:")) {
    figure.bytes = memory->value * kGiB;
    figure.step = memory->step * kGiB;
    found.push_back(figure);
  } else if (const auto length = number_after(line, "Maximum concurrency for")) {
    figure.tokens = static_cast<Index>(length->value);
    const auto times = number_after(line, "per request:");
    figure.concurrency = times ? times->value : 0.0;
    if (times) found.push_back(figure);
  }
}

void read_sglang(LogFigure& figure, std::string_view line, std::vector<LogFigure>& found) {
  figure.engine = LogFigure::Engine::kSglang;
  if (line.find("KV Cache is allocated") == std::string_view::npos) return;
  const auto tokens = number_after(line, "#tokens:");
  if (!tokens) return;
  figure.tokens = static_cast<Index>(tokens->value);
  for (const char* part : {"K size:", "V size:", "KV size:"}) {
    const bool apart = std::string_view(part) != "KV size:";
    if (apart && line.find("KV size:") != std::string_view::npos) continue;
    if (const auto size = number_after(line, part)) {
      figure.bytes += size->value * kGiB;  // it prints GB and divides by 2^30
      figure.step += size->step * kGiB;
    }
  }
  found.push_back(figure);
}

void read_llama(LogFigure& figure, std::string_view line, std::vector<LogFigure>& found) {
  figure.engine = LogFigure::Engine::kLlamaCpp;
  auto size = number_after(line, "KV self size  =");
  const auto cells = [&]() -> std::optional<Number> {
    const std::size_t at = line.find(" cells");
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t open = line.rfind('(', at);
    return open == std::string_view::npos ? std::nullopt : number_after(line.substr(open), "(");
  }();
  if (!size) size = number_after(line, "size =");
  if (!size || line.find("K (") == std::string_view::npos) return;
  if (line.find("MiB") == std::string_view::npos) return;
  figure.bytes = size->value * kMiB;
  figure.step = size->step * kMiB;
  figure.tokens = cells ? static_cast<Index>(cells->value) : 0;
  if (cells) {
    const auto layers = number_after(line.substr(line.find(" cells")), "cells,");
    if (layers) figure.layers = static_cast<Index>(layers->value);
  }
  figure.key_type = word_after(line, "K (");
  figure.value_type = word_after(line, "V (");
  found.push_back(figure);
}

// Bytes of `tokens` rows of those layers; nothing where no kind of layer comes in that number.
std::optional<double> bytes_of(const CacheSpec& spec, const LogFigure& figure,
                               const TypePair& types, Index ranks, std::string& kind) {
  const CacheSpec merged = merged_layers(spec);
  Wide sum = 0;
  const bool all = figure.layers == 0 || figure.layers == spec.caching_layers();
  for (const LayerRun& run : merged.layers) {
    if (run.layer.rows.empty() || (!all && run.count != figure.layers)) continue;
    for (const CacheRows& rows : run.layer.rows) {
      if (rows.span == CacheRows::Span::kEncoder) continue;
      if (rows.form == CacheRows::Form::kIndexer && figure.engine == LogFigure::Engine::kLlamaCpp) {
        continue;
      }
      const Index heads = rows.form == CacheRows::Form::kHeads
                              ? heads_per_rank(rows.kv_heads, ranks)
                              : rows.kv_heads;
      sum += (stored_bytes(types.keys, rows, heads, rows.key_dim, figure.tokens, 1) +
              stored_bytes(types.values, rows, heads, rows.value_dim, figure.tokens, 1)) *
             run.count;
    }
    kind += fmt::format("{}{} {} layers", kind.empty() ? "" : ", ", run.count, run.layer.kind);
  }
  if (kind.empty()) return std::nullopt;
  return static_cast<double>(sum);
}

// vllm says memory and tokens in lines of their own.
double memory_of(const std::vector<LogFigure>& figures) {
  for (const LogFigure& figure : figures) {
    if (figure.engine == LogFigure::Engine::kVllm && figure.bytes > 0) return figure.bytes;
  }
  return 0.0;
}

double memory_step(const std::vector<LogFigure>& figures) {
  for (const LogFigure& figure : figures) {
    if (figure.engine == LogFigure::Engine::kVllm && figure.bytes > 0) return figure.step;
  }
  return 0.0;
}

Index pool_of(const std::vector<LogFigure>& figures) {
  for (const LogFigure& figure : figures) {
    if (figure.engine == LogFigure::Engine::kVllm && figure.tokens > 0 && figure.concurrency == 0) {
      return figure.tokens;
    }
  }
  return 0;
}

void judge(LogVerdict& verdict, double printed, double slack, const std::string& otherwise) {
  verdict.compared = true;
  verdict.agrees = std::abs(verdict.ours - printed) <= slack;
  if (!verdict.agrees) verdict.note = otherwise;
}

}  // namespace

std::vector<LogFigure> log_figures(std::string_view log) {
  std::vector<LogFigure> found;
  Index number = 0;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    ++number;
    if (line.size() > 4096) continue;  // no line of theirs is that long
    LogFigure figure{.line = number};
    const std::size_t start = line.find_first_not_of(" \t");
    figure.text = escaped(line.substr(start == std::string_view::npos ? 0 : start), 160);
    const std::size_t before = found.size();
    read_vllm(figure, line, found);
    if (found.size() == before) read_sglang(figure, line, found);
    if (found.size() == before) read_llama(figure, line, found);
  }
  return found;
}

std::vector<LogVerdict> compared_with_log(const CacheSpec& spec,
                                          const std::vector<LogFigure>& figures,
                                          const TypePair& asked, Index ranks) {
  std::vector<LogVerdict> verdicts;
  for (const LogFigure& figure : figures) {
    LogVerdict verdict{.figure = figure};
    TypePair types = asked;
    if (!figure.key_type.empty()) types.keys = cache_type(figure.key_type, "the log's K");
    if (!figure.value_type.empty()) types.values = cache_type(figure.value_type, "the log's V");
    std::string kind;
    if (figure.concurrency > 0) {
      const Index pool = pool_of(figures);
      verdict.compared = pool > 0;
      const double times =
          pool > 0 ? static_cast<double>(pool) / static_cast<double>(figure.tokens) : 0.0;
      verdict.agrees = std::abs(times - figure.concurrency) <= 0.005 + 1e-9;
      verdict.note = fmt::format("{:.2f} by the tokens of the pool", times);
    } else if (figure.tokens == 0) {
      verdict.note = "taken together with the tokens of its pool";
    } else if (const auto ours = bytes_of(spec, figure, types, ranks, kind)) {
      verdict.ours = *ours;
      const bool vllm = figure.engine == LogFigure::Engine::kVllm;
      const double printed = vllm ? memory_of(figures) : figure.bytes;
      if (printed > 0) {
        // The pool is whole blocks: less than one of 16 tokens may be left over.
        const double block = vllm ? 16.0 * verdict.ours / static_cast<double>(figure.tokens) : 0.0;
        const double step = vllm ? memory_step(figures) : figure.step;
        judge(verdict, printed, step / 2 + block + 1.0,
              vllm ? "vllm's tokens are its concurrency times the model's length: windows, states "
                     "and padding to one page size count in it"
                   : "the log counts other layers, rows or types");
      }
      if (verdict.note.empty()) verdict.note = kind;
    } else {
      verdict.note = fmt::format("no kind of layer comes {} times", figure.layers);
      verdict.compared = true;
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace attn
