#include "kvcache-bench/quality_options.h"

#include <fmt/core.h>

#include "core/error.h"

namespace attn {

void declare_quality(cli::OptionTable& table, QualityOptions& o) {
  table.group("Quality of number types");
  table.input("text", o.text,
              "what the model makes of this text with a cache of each pair of --k-dtype and "
              "--v-dtype, beside f32; - for stdin");
  table
      .real("val-fraction", o.val_fraction,
            "this share of the text's tokens alone, its end, which training held out")
      .above(0)
      .at_most(1)
      .default_is("all of it");
  table
      .count("score-window", o.window,
             "tokens that the model reads at a time; windows do not overlap")
      .default_is("as tinygpt-generate --score");
}

void check_quality(const cli::OptionTable& table, QualityOptions& o) {
  o.types_given = table.given("k-dtype") || table.given("v-dtype");
  if (!o.wanted()) {
    for (const char* name : {"val-fraction", "score-window"}) {
      if (table.given(name)) throw UsageError(fmt::format("--{} is of --text", name));
    }
    return;
  }
  if (!table.given("input")) {
    throw UsageError("--text needs a trained model to read it: -i FILE",
                     {"tinygpt-train makes one, tinygpt-import takes those of others"});
  }
  // What would have no effect.
  for (const char* other : {"tokens", "prompt", "new-tokens", "window", "cache", "page-size",
                            "requests", "lengths", "counts-only", "repeats", "warmup"}) {
    if (table.given(other))
      throw UsageError(fmt::format("--text and --{} do not go together", other));
  }
}

}  // namespace attn
