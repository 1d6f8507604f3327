#include "sizing/cache_type.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/ceil_div.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// ggml's blocks: 32 values with an f16 scale (q8_0, q4_0, q5_0, iq4_nl), with a minimum too (q4_1,
// q5_1), and the fifth bits of q5 apart. nvfp4: 16 values of 4 bits and a byte of scale. The
// per-head types: a float beside each token's key of each head (vllm v1/kv_cache_interface.py).
const std::vector<CacheType>& types() {
  static const std::vector<CacheType> all = {
      {"f64", 1, 8},
      {"f32", 1, 4},
      {"f16", 1, 2},
      {"bf16", 1, 2},
      {"fp8", 1, 1},
      {"int8", 1, 1},
      {"fp8_per_head", 1, 1, 4},
      {"int8_per_head", 1, 1, 4},
      {"int4", 2, 1},
      {"nvfp4", 16, 9},
      {"q8_0", 32, 34},
      {"q5_1", 32, 24},
      {"q5_0", 32, 22},
      {"q4_1", 32, 20},
      {"q4_0", 32, 18},
      {"iq4_nl", 32, 18},
      {.name = "fp8_ds_mla", .latent_only = true},
      {.name = "kivi4"},
      {.name = "kivi2"},
  };
  return all;
}

std::string canonical(std::string_view name) {
  std::string word(name);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (word == "fp8_e4m3" || word == "fp8_e5m2" || word == "float8" || word == "f8" ||
      word == "float8_e4m3fn" || word == "float8_e5m2") {
    return "fp8";
  }
  const auto dtype = parse_dtype(word);
  if (dtype == DType::kI8) return "int8";
  if (dtype && is_floating(*dtype)) return std::string(dtype_name(*dtype));
  return word;
}

Index whole_number(std::string_view text, std::string_view option, Index lowest) {
  Index number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < lowest) {
    throw UsageError(fmt::format("{} wants kiviBITS:GROUP:RESIDUAL such as kivi4:64:128: '{}'",
                                 option, escaped(text)));
  }
  return number;
}

// Liu et al. 2024 (arXiv:2402.02750): groups of numbers share an f16 scale and an f16 zero, the
// last tokens stay f16. Group 64 and 128 tokens are the defaults of transformers' QuantizedCache.
std::optional<CacheType> kivi(const std::string& word, std::string_view option) {
  if (!word.starts_with("kivi2") && !word.starts_with("kivi4")) return std::nullopt;
  const auto parts = split(word, ':');
  if (parts.size() > 3 || parts[0].size() != 5) return std::nullopt;
  const Index group = parts.size() > 1 ? whole_number(parts[1], option, 4) : 64;
  const Index residual = parts.size() > 2 ? whole_number(parts[2], option, 0) : 128;
  const Index bits = word[4] - '0';
  if (group > 4096 || group * bits % 8 != 0) {
    throw UsageError(fmt::format("{}: a group of {} numbers of {} bits is not whole bytes", option,
                                 group, bits));
  }
  return CacheType{.name = fmt::format("kivi{}:{}:{}", bits, group, residual),
                   .block_values = group,
                   .block_bytes = group * bits / 8 + 4,
                   .by_row = true,
                   .residual = residual};
}

// vllm's fp8_ds_mla: of a row of 512 + 64, the 512 in fp8 with a float for every 128, the 64 in
// bf16; of DeepSeek V4's row of 512, 448 in fp8 with 8 bytes of scales, 64 in bf16.
Index ds_mla_row(const CacheRows& rows, Index dim) {
  if (rows.form == CacheRows::Form::kLatent && dim == 576) return 656;
  if (rows.form == CacheRows::Form::kLatent && dim == 512) return 584;
  throw UsageError(fmt::format("fp8_ds_mla is a layout of latent rows of 576 or 512 numbers: {}",
                               rows_text(rows)));
}

[[noreturn]] void refuse_block(const CacheType& type, Index values, const char* of) {
  throw UsageError(fmt::format("{} stores blocks of {} values: {} does not divide {} of {}",
                               type.name, type.block_values, type.block_values, of, values));
}

Wide product_of(std::initializer_list<Index> factors) {
  const auto product = wide_product(std::span(factors.begin(), factors.size()));
  // What leaves 63 bits is too large whatever is added to it: the sum's check will say so.
  constexpr Wide kTooLarge = Wide{1} << 64;
  return product && *product < kTooLarge ? *product : kTooLarge;
}

}  // namespace

CacheType cache_type(std::string_view name, std::string_view option) {
  const std::string word = canonical(name);
  if (const auto type = kivi(word, option)) return *type;
  for (const CacheType& type : types()) {
    if (type.name == word) return type;
  }
  const std::vector<std::string> known = cache_type_names();
  std::vector<std::string> hints = {fmt::format("known: {}", fmt::join(known, ", "))};
  const std::string near = nearest_word(word, known);
  if (!near.empty()) hints.insert(hints.begin(), fmt::format("did you mean '{}'?", near));
  throw UsageError(fmt::format("{}: unknown cache type '{}'", option, escaped(name)), hints);
}

std::vector<std::string> cache_type_names() {
  std::vector<std::string> names;
  for (const CacheType& type : types()) names.push_back(type.name);
  return names;
}

Wide stored_bytes(const CacheType& type, const CacheRows& rows, Index heads, Index dim,
                  Index entries, Index sequences) {
  if (dim == 0 || entries == 0) return 0;
  if (rows.form == CacheRows::Form::kIndexer) {
    // A byte a number, and 4 bytes of scale for every 128 (vllm, sglang: whatever the cache is).
    return product_of({dim + ceil_div(dim, 128) * 4, entries, sequences});
  }
  if (type.latent_only) return product_of({ds_mla_row(rows, dim), entries, sequences});
  if (!type.by_row && dim % type.block_values != 0) refuse_block(type, dim, "a head");
  Wide bytes = 0;
  const Index late = std::min(entries, type.residual);
  if (type.by_row) {
    const auto row = checked_mul(heads, dim);
    if (!row) throw UsageError("too large: a row of the cache has more than 2^63 numbers");
    if (*row % type.block_values != 0) refuse_block(type, *row, "a row");
    bytes = product_of({*row / type.block_values, type.block_bytes, entries - late, sequences}) +
            product_of({*row, 2, late, sequences});
  } else {
    bytes = product_of({heads, dim / type.block_values, type.block_bytes, entries, sequences}) +
            product_of({heads, type.head_bytes, entries, sequences});
  }
  return bytes;
}

}  // namespace attn
