#include "tinygpt-import/listing.h"

#include <fmt/core.h>

#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/text.h"

namespace attn {
namespace {

std::string parameters_text(const HfMapping& mapping) {
  std::string text;
  for (const ParamInfo& info : mapping.holds) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", info.name, shape_text(info.shape));
  }
  return text;
}

cli::Table table_of(const Listing& listing) {
  using Align = cli::Table::Align;
  cli::Table table({{"tensor", Align::kLeft},
                    {"dtype", Align::kLeft},
                    {"shape", Align::kLeft},
                    {"transposed", Align::kLeft},
                    {"holds", Align::kLeft}});
  for (const ListedTensor& tensor : listing.tensors) {
    table.add({escaped(tensor.name), tensor.dtype, shape_text(tensor.mapping.shape),
               tensor.mapping.transposed ? "yes" : "no", parameters_text(tensor.mapping)});
  }
  for (const std::string& name : listing.passed_over) {
    table.add({escaped(name), "", "", "", "passed over"});
  }
  return table;
}

cli::Json json_of(const Listing& listing, bool with_tensors) {
  const ModelConfig& c = listing.config;
  cli::Json document = {{"family", listing.family->model_type},
                        {"parameters", count_parameters(c).total},
                        {"blocks", c.depth},
                        {"dim", c.dim},
                        {"heads", c.heads},
                        {"kv_heads", c.kv_heads},
                        {"head_dim", c.head_dim},
                        {"vocab_size", c.vocab_size},
                        {"tie_embeddings", c.tie_embeddings},
                        {"rope_scaling", rope_scaling_name(c.rope_scaling.kind)},
                        {"tokenizer", listing.tokenizer}};
  if (!with_tensors) return document;
  document["tensors"] = cli::Json::array();
  for (const ListedTensor& tensor : listing.tensors) {
    cli::Json holds = cli::Json::array();
    for (const ParamInfo& info : tensor.mapping.holds) {
      holds.push_back({{"name", info.name}, {"shape", info.shape}});
    }
    document["tensors"].push_back({{"name", tensor.name},
                                   {"dtype", tensor.dtype},
                                   {"shape", tensor.mapping.shape},
                                   {"transposed", tensor.mapping.transposed},
                                   {"holds", std::move(holds)}});
  }
  document["passed_over"] = listing.passed_over;
  return document;
}

}  // namespace

std::string summary_line(const Listing& listing) {
  const ModelConfig& c = listing.config;
  std::string heads = fmt::format("{} heads of {}", c.heads, c.head_dim);
  if (c.kv_heads != c.heads) heads += fmt::format(" ({} of keys)", c.kv_heads);
  std::string scaling;
  if (c.rope_scaling.kind != RopeScalingKind::kNone) {
    scaling = fmt::format(", rope scaling {}", rope_scaling_name(c.rope_scaling.kind));
  }
  return fmt::format("{}: {}, width {}, {}, {} tokens{}{}; {} parameters in {} tensors\n",
                     listing.family->model_type, counted(c.depth, "block"), c.dim, heads,
                     grouped(c.vocab_size), c.tie_embeddings ? ", tied head" : "", scaling,
                     grouped(count_parameters(c).total), listing.tensors.size());
}

std::string listing_report(const Listing& listing, bool with_tensors, cli::Format format) {
  switch (format) {
    case cli::Format::kJson:
      return cli::json_text(json_of(listing, with_tensors));
    case cli::Format::kTsv:
      return table_of(listing).tsv();
    case cli::Format::kCsv:
      return table_of(listing).csv();
    default:
      return summary_line(listing) + (with_tensors ? table_of(listing).text() : "");
  }
}

}  // namespace attn
