// Decoding with and without a key-value cache: rows counted, outputs compared, times taken.
//
//   kvcache-bench --preset tutorial
//   kvcache-bench --kv-heads 8,2,1 --tokens 128-512*2 -o bench.h5
//   kvcache-bench -i model.h5 --prompt 64 --new-tokens 64 --format md
//   kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv

#include "cli/tool.h"
#include "kvcache-bench/compare.h"
#include "kvcache-bench/options.h"

namespace {

using namespace attn;

// The modes, each in a file of its own.
int run(const BenchOptions& o, cli::Session& session) {
  return run_compare(o, session);
}

const cli::Program kProgram = {
    .name = "kvcache-bench",
    .summary = "decode with and without a key-value cache: count, compare, time",
    .usage = "[OPTIONS]",
    .examples = {{"kvcache-bench --preset tutorial",
                  "512 and 131,328 key rows, and what they cost"},
                 {"kvcache-bench --kv-heads 8,2,1 --tokens 64-512*2 -o bench.h5",
                  "fewer key-value heads, several lengths, all samples in a file"},
                 {"kvcache-bench -i model.h5 --prompt 4 --new-tokens 8 --format md",
                  "a trained model; prompt and generated tokens apart"},
                 {"kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv",
                  "counts alone: the same bytes everywhere"}},
    .notes =
        "Key rows are counted by the layers themselves, per sequence and key projection:\n"
        "  n given tokens           n with the cache      n(n+1)/2 without\n"
        "  a prompt of P, N new     P+N-1                 NP + N(N-1)/2\n"
        "The first new token comes out of the prompt's pass; the last is never fed back.\n"
        "  prefill  the prompt, or all n tokens, in one pass\n"
        "  decode   token after token; total is both, its tok/s counting the new tokens\n"
        "Times are medians of interleaved rounds; iqr is the width of their middle half, cpu\n"
        "the time of all threads together. read GB/s counts the cache and the matrices, which\n"
        "every step of cached decoding reads whole; of sweep compares it with reading a buffer\n"
        "of that size again and again on as many threads.",
    .meaning_of_no = "a count differs from its formula, or outputs differ",
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<BenchOptions>(kProgram, argc, argv, declare, run);
}
