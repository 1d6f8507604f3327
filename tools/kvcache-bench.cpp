// Decoding with and without a key-value cache: rows counted, outputs compared, times taken.
//
//   kvcache-bench --preset tutorial
//   kvcache-bench --kv-heads 8,2,1 --tokens 128-512*2 -o bench.h5
//   kvcache-bench -i model.h5 --prompt 64 --new-tokens 64 --format md
//   kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv
//   kvcache-bench --requests 64 --lengths lognormal:500:0.8 --shared-prefix 32
//   kvcache-bench -i model.h5 --text novel.txt --k-dtype q8_0 --v-dtype q8_0,q4_0

#include "cli/tool.h"
#include "kvcache-bench/compare.h"
#include "kvcache-bench/options.h"
#include "kvcache-bench/quality.h"
#include "kvcache-bench/serve.h"

namespace {

using namespace attn;

// The modes, each in a file of its own.
int run(const BenchOptions& o, cli::Session& session) {
  if (o.quality.wanted()) return run_quality(o, session);
  if (o.serving.wanted) return run_serve(o, session);
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
                 {"kvcache-bench --model gpt2 --tokens 64 --cache contiguous,paged",
                  "a whole decoder of random tensors, by name or by --depth N"},
                 {"kvcache-bench --tokens 512 --window 128 --k-dtype f32,q8_0 --v-dtype f32,q8_0",
                  "a sliding window; every pair of types a cache of its own"},
                 {"kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv",
                  "counts alone: the same bytes everywhere"},
                 {"kvcache-bench --requests 32 --lengths uniform:80:400 --shared-prefix 64",
                  "sequences of unequal length together: reserved, in pages, prefix once"},
                 {"kvcache-bench -i model.h5 --text novel.txt --k-dtype q8_0 --v-dtype q8_0,q4_0",
                  "what a quantised cache does to a model: loss, KL divergence, layer by layer"}},
    .notes =
        "Key rows are counted by the layers themselves, per sequence and key projection:\n"
        "  n given tokens           n with the cache      n(n+1)/2 without\n"
        "  a prompt of P, N new     P+N-1                 NP + N(N-1)/2\n"
        "The first new token comes out of the prompt's pass; the last is never fed back.\n"
        "  prefill  the prompt, or all n tokens, in one pass\n"
        "  decode   token after token; total is both, its tok/s counting the new tokens\n"
        "Without a cache all tokens so far are computed again at every step. So they are with\n"
        "--window: through the layers below it a row depends on more than its own window.\n"
        "Cache bytes are those of rows in use (with --window those that the last pass saw);\n"
        "allocated are the pages that hold them, or the whole capacity.\n"
        "\n"
        "Times are medians of interleaved rounds; iqr is the width of their middle half, cpu\n"
        "the time of all threads together. read/step is what a step of cached decoding reads:\n"
        "the keys and values that are seen, and every matrix once; of sweep compares GB/s (10^9)\n"
        "with reading a buffer of that size again and again. GFLOP/s counts a multiply and an\n"
        "add as two, for products with matrices and for keys that are seen; of sgemm compares\n"
        "with square products that stay in the cache. The crossover is the token from which on\n"
        "the cache has saved time in sum, by the medians of all steps.\n"
        "\n"
        "Outputs of all ways agree within 1e-5 of the largest. Keys and values in another type\n"
        "are held to ways of the same types, which may round a number to either side: within a\n"
        "step of the type. What storing so does to the outputs is said, and not judged.\n"
        "\n"
        "With --requests or --lengths sequences come, decode together and leave: alone one after\n"
        "another; contiguous, each reserving --max-length; paged; and with --shared-prefix "
        "shared,\n"
        "its full pages held once. --memory is the same for all. A length is the rows cached at "
        "the\n"
        "end, P+N-1; half are prompt unless --prompt or --new-tokens says otherwise. With "
        "--window\n"
        "pages that no token sees any more are given back, for others to take. A step is a\n"
        "pass: one prompt, or one token for all that run. waste is the share of bytes allocated\n"
        "that hold nothing: on average over steps, at most, and summed over the sequences as they\n"
        "end: without --window kvcache-size's answer for the lengths. half done, 90 %, all: steps, "
        "or\n"
        "seconds, from arrival until so many had finished. Outputs are held against alone's.\n"
        "\n"
        "With --text, a row for each pair of types. KL is the divergence of the next token's\n"
        "probabilities from those with an f32 cache, in nats; same top the share of tokens after\n"
        "which the likeliest is the same; worst layer the one (from 0) whose own storing diverges\n"
        "most. The loss of f32/f32 is tinygpt-generate's --score.",
    .meaning_of_no = "a count differs from its formula, or outputs differ",
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<BenchOptions>(kProgram, argc, argv, declare, run);
}
