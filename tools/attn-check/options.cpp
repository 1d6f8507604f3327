#include "attn-check/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "attn-check/option_rules.h"
#include "attn-check/step_options.h"
#include "check/cases/case_datasets.h"
#include "check/verdict/explanations.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Format;

std::vector<std::string> house_names() {
  std::vector<std::string> names;
  for (const HouseRule& rule : all_houses()) names.push_back(house_name(rule));
  return names;
}

std::vector<std::string> explainable() {
  std::vector<std::string> names = mistake_names();
  names.emplace_back("list");
  return names;
}

void declare_probe(cli::OptionTable& table, CheckOptions& o) {
  table.group("Probes for a kernel, which takes the rules below");
  table.flag("make-probe", o.make_probe, "write a folder of inputs that give mistakes away");
  table.flag("npz", o.npz, "as NumPy archives instead of HDF5");
  table
      .custom(
          "probe-inputs", "LIST",
          [&o](std::string_view text) {
            for (const std::string_view word : split(text, ',')) {
              const auto input = parse_probe_input(word);
              if (!input) {
                throw UsageError(
                    fmt::format("--probe-inputs: want mask, additive-mask, kv-lens, sinks, "
                                "alibi-slopes or pages, got "
                                "'{}'",
                                escaped(word)));
              }
              o.probe_inputs.push_back(*input);
            }
          },
          "what else it takes: mask, additive-mask, kv-lens, sinks, alibi-slopes, pages")
      .completes({"mask", "additive-mask", "kv-lens", "sinks", "alibi-slopes", "pages"});
}

void declare_rules(cli::OptionTable& table, CaseAttributes& rules) {
  table.group("Rules, each wins over the file's attribute");
  table.action(
      "causal", [&rules] { rules.causal = true; }, "a query sees no later key");
  table.action(
      "no-causal", [&rules] { rules.causal = false; }, "a query sees later keys too");
  table.choice(
      "causal-alignment", rules.causal_alignment,
      std::vector<std::pair<std::string, CausalAlignment>>{
          {"top-left", CausalAlignment::kTopLeft}, {"bottom-right", CausalAlignment::kBottomRight}},
      "first query at the first key, or last query at the last");
  constexpr Index kMost = Index{1} << 31;
  table.count("causal-offset", rules.causal_offset, "key that the first query stands at")
      .at_least(-kMost)
      .at_most(kMost);
  table.real("scale", rules.scale, "factor on q.k").default_is("1/sqrt(head_dim)");
  table.real("softcap", rules.softcap, "cap*tanh(score/cap), 0 for none").at_least(0.0);
  table.count("window-left", rules.window_left, "keys before the query's own, -1 for all")
      .at_least(-1)
      .at_most(kMost);
  table.count("window-right", rules.window_right, "keys after it, -1 for all")
      .at_least(-1)
      .at_most(kMost);
  table.custom(
      "window-size", "N",
      [&rules](std::string_view text) {
        rules.window_left = cli::parse_count(text, "--window-size", {1, kMost}) - 1;
      },
      "keys seen with the query's own: --window-left N-1");
  table
      .custom(
          "layout", "ORDER",
          [&rules](std::string_view text) {
            rules.layout = parse_layout(text);
            if (!rules.layout) {
              throw UsageError(
                  fmt::format("--layout: want bhsd, bshd, nbd or bnd, got '{}'", escaped(text)));
            }
          },
          "axes of q, k, v, out: bhsd (batch, heads, rows, features), bshd, or with the heads side "
          "by side nbd (rows, batch, all features) as PyTorch's MultiheadAttention, or bnd")
      .completes({"bhsd", "bshd", "nbd", "bnd"});
  table
      .custom(
          "pages-layout", "ORDER",
          [&rules](std::string_view text) {
            rules.pages_layout = parse_pages_layout(text);
            if (!rules.pages_layout) {
              throw UsageError(
                  fmt::format("--pages-layout: want nhd, hnd or vllm, got '{}'", escaped(text)));
            }
          },
          "axes of k_pages, v_pages: nhd (pages, page_size, kv_heads, features), hnd (pages, "
          "kv_heads, page_size, features), or those of vLLM's own kernels")
      .completes({"nhd", "hnd", "vllm"});
  table.count("heads", rules.heads, "heads of q: side by side, for nbd and bnd; of probes 4")
      .at_most(kMost);
  table.count("kv-heads", rules.kv_heads, "heads of k and v, where not as many").at_most(kMost);
  table
      .custom(
          "dtype", "TYPE",
          [&rules](std::string_view text) {
            rules.tf32 = text == "tf32";
            rules.dtype = *rules.tf32 ? DType::kF32 : parse_checked_dtype(text);
            if (!rules.dtype) {
              throw UsageError(fmt::format("--dtype: want f64, f32, tf32, f16 or bf16, got '{}'",
                                           escaped(text)));
            }
          },
          "arithmetic of what is checked: f64, f32, tf32, f16, bf16")
      .completes({"f64", "f32", "tf32", "f16", "bf16"});
  table.choice("mask-type", rules.mask_type,
               std::vector<std::pair<std::string, MaskType>>{{"bool", MaskType::kBool},
                                                             {"additive", MaskType::kAdditive}},
               "1 may attend, or a number added to the score");
  table.choice("fully-masked", rules.fully_masked,
               std::vector<std::pair<std::string, FullyMasked>>{{"zero", FullyMasked::kZero},
                                                                {"nan", FullyMasked::kNan}},
               "what a row that sees nothing gives");
  table.choice(
      "scores-stage", rules.scores_stage,
      std::vector<std::pair<std::string, ScoreStage>>{{"masked", ScoreStage::kMasked},
                                                      {"raw", ScoreStage::kRaw},
                                                      {"softcapped", ScoreStage::kSoftcapped}},
      "how far the file's scores have come");
}

void declare_tolerance(cli::OptionTable& table, CheckOptions& o) {
  std::optional<HouseRule>& rule = o.tolerance;
  table.group("Whose tolerance decides");
  table
      .custom(
          "tolerance", "HOUSE",
          [&rule](std::string_view text) {
            rule = parse_house(text);
            if (rule) return;
            throw UsageError(fmt::format("--tolerance: want {}, got '{}'",
                                         fmt::join(house_names(), ", "), escaped(text)));
          },
          "as in the tests of pytorch, flash, ggml, xformers, onnx, cudnn, mlx; ours; pcc=0.99; "
          "and where they disagree")
      .default_is("ours")
      .completes_from(house_names)
      .not_data();
  table
      .flag("power", o.power,
            "which known mistakes a test of out with these inputs and this tolerance would not "
            "notice, and what to change")
      .not_data();
}

void declare_names(cli::OptionTable& table, CaseNames& names) {
  table.group("Datasets by other names; FILE:/dataset, .npy or text; or numbers");
  for (const std::string& name : case_datasets()) {
    table.custom(
        dataset_option_name(name).substr(2), "PATH",
        [&names, name](std::string_view path) { names[name] = std::string(path); },
        fmt::format("instead of /{}", name));
  }
}

void declare_layer(cli::OptionTable& table, CheckOptions& o) {
  LayerAttributes& layer = o.layer;
  constexpr Index kMost = Index{1} << 31;
  table.group("A whole layer, each wins over the file's attribute");
  table.action(
      "weights-transposed", [&layer] { layer.weights_transposed = true; },
      "matrices are (in, out), not (out, in)");
  table
      .custom(
          "fused-order", "ORDER",
          [&layer](std::string_view text) {
            layer.fused_order = parse_fused_order(text);
            if (layer.fused_order) return;
            throw UsageError(
                fmt::format("--fused-order: want blocks or heads, got '{}'", escaped(text)));
          },
          "rows of a fused matrix: blocks of q, k, v, or heads, each with its q, k, v")
      .completes({"blocks", "heads"});
  table.count("head-dim", layer.head_dim, "features of a head: of a fused matrix; of probes, 16")
      .at_most(kMost);
  table.choice("rope-style", layer.rope_style,
               std::vector<std::pair<std::string, RopePairs>>{
                   {"half-split", RopePairs::kHalves}, {"interleaved", RopePairs::kInterleaved}},
               "queries and keys are rotated, in pairs (i, i + half) or (2i, 2i + 1)");
  table.real("rope-base", layer.rope_base, "base of the rotation's frequencies")
      .default_is("10000");
  table.count("rotary-dim", layer.rotary_dim, "features of a head that turn")
      .default_is("head_dim")
      .at_most(kMost);
  table.count("pos0", layer.pos0, "position of the first row").at_least(0).at_most(kMost);
  table
      .custom(
          "qk-stage", "STAGE",
          [&layer](std::string_view text) {
            layer.qk_stage = parse_qk_stage(text);
            if (layer.qk_stage) return;
            throw UsageError(
                fmt::format("--qk-stage: want projected or rotated, got '{}'", escaped(text)));
          },
          "recorded q and k: projected (before rope) or rotated; else whichever fits")
      .completes({"projected", "rotated"});
  const auto renamed = [&](const std::string& option, const std::string& dataset) {
    table.custom(
        option, "PATH",
        [&names = o.names, dataset](std::string_view path) { names[dataset] = std::string(path); },
        fmt::format("instead of /{}", dataset));
  };
  for (const char* name : {"kv_proj", "qkv_proj", "out_proj"}) {
    renamed(dataset_option_name(name).substr(2), name);
  }
  table
      .text("block", o.block,
            "attention of a block of the checkpoint --input: 1, encoder.0, 0.cross")
      .argument("N");
  table.text("ids", o.ids, "tokens for --block, as numbers; else the file's /input/ids")
      .argument("NUMBERS");
  table.text("prompt", o.prompt, "text for --block").argument("TEXT");
  table.text("source-ids", o.source_ids, "tokens of an encoder-decoder's source")
      .argument("NUMBERS");
  table.text("dump", o.dump, "steps of the same layer that another program recorded")
      .argument("FILE");
  renamed("joined-heads", "heads");
  renamed("layer-output", "output");
}

}  // namespace

void declare(cli::OptionTable& table, CheckOptions& o) {
  table.group("Input and output");
  cli::input_option(table, o.input, "case in HDF5 or .npz, - for stdin; or a folder of cases");
  cli::output_option(table, o.output,
                     "HDF5 file for out and lse, - for stdout; or the folder of probes");
  table
      .inputs(
          "merge", o.merge,
          "join the out of parts of the keys by their lse; --input then has the whole, to check")
      .argument("FILES")
      .takes_operands();
  table.flag("maps", o.maps, "weights and scores in the output and in the second opinion too");
  cli::max_bytes_option(table, o.max_bytes);
  table.group("Without input");
  table.count("tokens", o.tokens, "random tokens instead of the three").at_most(1024);
  cli::seed_option(table, o.seed);
  table.text("explain", o.explain, "what a diagnosis means and how it comes about; list for all")
      .argument("NAME")
      .completes_from(explainable)
      .not_data();
  table
      .counts("cost", o.cost, "time and memory over these lengths, 128-8192*2, and their exponents")
      .at_most(Index{1} << 24)
      .argument("LIST");
  table.count("cost-heads", o.cost_heads, "heads that are timed").at_most(1024);
  table.count("cost-head-dim", o.cost_head_dim, "features of each").at_most(65536);
  declare_probe(table, o);
  declare_rules(table, o.attributes);
  declare_tolerance(table, o);
  declare_steps(table, o);
  declare_names(table, o.names);
  declare_layer(table, o);
  table.group("Report");
  cli::format_options(table, o.format, {Format::kText, Format::kTsv, Format::kJson});
  cli::show_options(table, o.show, "draw the weights of each head");
  cli::threads_option(table, o.threads);
  table.check([&table, &o] { check_combinations(table, o); });
}

}  // namespace attn
