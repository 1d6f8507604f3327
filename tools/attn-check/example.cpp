#include "attn-check/example.h"

#include <fmt/core.h>

#include <cstdint>

#include "attn-check/check.h"
#include "attn-check/matrix_text.h"
#include "attn-check/report.h"
#include "check/case_output.h"
#include "check/example.h"
#include "core/counted.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {

int run_example(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output);
  const AttentionExample example =
      o.tokens ? random_example(*o.tokens, static_cast<std::uint64_t>(o.seed))
               : three_token_example();
  const ExampleRun run = check_example(example);
  if (!o.output.empty()) {
    Provenance provenance;
    provenance.command = session.history();
    if (o.tokens) provenance.seed = o.seed;
    Hdf5Writer writer;
    add_example(writer, example, run);
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  if (session.report().wanted()) {
    const bool small = example.problem.q_len() <= kMostWhole;
    print_example(example, run, o.tokens.has_value(), {o.format, small, o.show}, session);
  }
  session.did(fmt::format("checked an example of {}{}", counted(example.problem.q_len(), "token"),
                          checked_words(run.verdict)));
  return exit_code(run.verdict);
}

}  // namespace attn
