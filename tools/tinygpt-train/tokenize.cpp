#include "tinygpt-train/tokenize.h"

#include <fmt/core.h>

#include "cli/exit_code.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"
#include "tinygpt-train/earlier.h"
#include "train/token_file.h"
#include "train/tokenized_text.h"

namespace attn {

int run_tokenize(const TrainOptions& options, cli::Session& session) {
  check_output(options.output, options.task.text);
  TaskSettings settings = options.task;
  settings.max_bytes = options.max_bytes;
  if (options.earlier != nullptr) {
    settings.tokenizer_from = options.earlier->checkpoint.tokenizer;
    if (settings.tokenizer_from == nullptr) {
      throw DataError(fmt::format("{}: holds no tokenizer", options.earlier->name));
    }
  }
  const TokenFile file = tokenize(settings);
  Hdf5Writer writer;
  Provenance provenance;
  provenance.command = session.history();
  write_provenance(writer, provenance);
  write_token_file(writer, file);
  write_output(options.output, writer.finish());
  std::string words = fmt::format("tokenized {}: {}", file.name, counted(file.bytes, "byte"));
  if (const std::string unit = unit_word(*file.tokenizer); unit != "bytes") {
    words += fmt::format(" are {} {}, {:.2f} bytes each", grouped(file.count), unit,
                         static_cast<double>(file.bytes) / static_cast<double>(file.count));
  }
  session.did(words);
  return cli::kDone;
}

}  // namespace attn
