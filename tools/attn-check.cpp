// attn-check: does a recorded attention obey the definition and the laws of attention?
//   attn-check                                   three tokens, step by step
//   attn-check -i case.h5                        check a file of q, k, v and out
//   attn-check --q '1 0; 0 1; 1 1' --causal      numbers typed by hand
//   attn-check --tokens 6 -o - | tensor-show -i - --dataset /weights_causal --slice 0,0 --show

#include "attn-check/block.h"
#include "attn-check/check.h"
#include "attn-check/cost.h"
#include "attn-check/example.h"
#include "attn-check/explain.h"
#include "attn-check/folder.h"
#include "attn-check/heads.h"
#include "attn-check/merge.h"
#include "attn-check/options.h"
#include "attn-check/power.h"
#include "attn-check/probe.h"
#include "attn-check/saturation.h"
#include "attn-check/steps.h"
#include "attn-check/weights.h"
#include "cli/tool.h"

namespace {

using namespace attn;

// The modes, each in a file of its own.
int run(const CheckOptions& o, cli::Session& session) {
  if (!o.explain.empty()) return run_explain(o, session);
  if (!o.cost.empty()) return run_cost(o, session);
  if (!o.merge.empty()) return run_merge(o, session);
  if (o.power) return run_power(o, session);
  if (!o.compare_heads.empty()) return run_compare_heads(o, session);
  if (o.head_stats) return run_head_stats(o, session);
  if (o.print_weights) return run_print_weights(o, session);
  if (o.steps) return run_steps(o, session);
  if (!o.block.empty()) return run_block(o, session);
  if (o.make_probe) return run_make_probe(o, session);
  if (is_folder(o.input)) return run_folder(o, session);
  const bool bare = o.input.empty() && o.names.empty();
  if (bare && o.no_scale) return run_saturation(o, session);
  return bare ? run_example(o, session) : run_case(o, session);
}

const cli::Program kProgram = {
    .name = "attn-check",
    .summary = "does a recorded attention obey the definition and the laws of attention?",
    .usage = "[OPTIONS] [FILE]",
    .examples =
        {{"attn-check", "three tokens, step by step, with three checks"},
         {"attn-check --tokens 6 --show", "two maps of six tokens, open and causal"},
         {"attn-check -i case.h5", "the verdict on a file of q, k, v, out ..."},
         {"attn-check -i dump.h5 --q /layer0/query --causal --json", "names and rules as options"},
         {"attn-check --q '1 0; 0 1' --v '5 5; 7 1'", "numbers typed by hand: k is q unless given"},
         {"attn-check -i case.h5 --tolerance ggml",
          "would ggml's tests pass it? And those of the others?"},
         {"attn-check --x '1 0; 0 1; 1 1' --causal --show-steps",
          "what project, score, scale, mask, softmax and mix make of three tokens"},
         {"attn-check --no-scale", "how softmax saturates without 1/sqrt(head_dim)"},
         {"attn-check --compare-heads 1,8", "one head of 512 features against eight of 64"},
         {"attn-check -i case.h5 --power --tolerance xformers",
          "which mistakes a test with these inputs would not notice"},
         {"attn-check --cost 128-8192*2", "how time and memory grow with the tokens"},
         {"attn-check -i layer.h5 --heads 8", "a layer of projections, step by step"},
         {"attn-check -i model.h5 --block 0 --ids '2 0 1 4'", "a block of a checkpoint, likewise"},
         {"attn-check --make-probe --causal --head-dim 64 --npz -o probes",
          "inputs that give your kernel's mistakes away"},
         {"attn-check -i probes", "one verdict on a folder of cases"},
         {"attn-check --merge a.h5 b.h5 -o whole.h5",
          "the answers to two parts of the keys, joined by their lse"},
         {"attn-check --explain gqa-tiled", "what a diagnosis means, with a small picture"},
         {"attn-check -o - | tensor-show -i - --dataset /weights", "what was computed"}},
    .notes =
        "A case holds /q (batch, heads, rows, features), /k and /v with as many heads or fewer, "
        "and what was made of them: /out, /weights, /scores, /lse, or some of these. Each is held "
        "to a float64 reference; the limits follow the error that honest arithmetic of the type "
        "has on these inputs:\n"
        "  largest <= 2 * honest + F * largest |out|\n"
        "  mean <= 2 * honest + F/4 * mean |out|\n"
        "  F = 1e-12 (f64), 1e-5 (f32), 2^-10 (f16, tf32), 2^-7 (bf16)\n"
        "Keys of a paged cache: /k_pages and /v_pages (pages, page_size, kv_heads, features) in "
        "place "
        "of /k and /v, /block_table (batch, blocks) with the numbers of pages, -1 or anything "
        "beyond "
        "a sequence's end, and /kv_lens (batch).\n"
        "/dout with /dq, /dk, /dv is checked against a backward pass in float64, to three times "
        "the honest error. A layer holds /x (and /context), q_proj, k_proj, v_proj, out_proj (or "
        "qkv_proj, in_proj, c_attn, kv_proj) with weight and bias, and what was recorded of /q, "
        "/k, /v, /scores, /weights, /heads and /output; the first step that deviates is named.\n"
        "A law whose data are absent is not checked; with nothing to compare the verdict is none.\n"
        "A large case is checked part by part, from the file where it lies: 8 x 8 heads of 8192 "
        "tokens of 128 features take one to two minutes of processor time and some 150 MB. Its "
        "honest error then comes from rows spread over all heads and those of the largest errors; "
        "mistakes are tried on at most 256 rows, and what explains these is held against all: five "
        "minutes and 1.5 GB more.",
    .meaning_of_no = "a check failed",
    .bare_call_works = true,
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<CheckOptions>(kProgram, argc, argv, declare, run);
}
