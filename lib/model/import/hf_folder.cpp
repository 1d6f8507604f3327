#include "model/import/hf_folder.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestConfig = Index{16} << 20;
constexpr const char* kConfig = "config.json";
constexpr const char* kGeneration = "generation_config.json";

bool is_folder(const std::string& argument) {
  std::error_code ignored;
  return fs::is_directory(argument, ignored);
}

std::string folder_of(const std::string& file) {
  const std::string parent = fs::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

// A file alone needs its configuration beside it. What a newcomer gives instead is a checkpoint.
void require_config(const std::string& file) {
  std::error_code ignored;
  if (fs::exists(fs::path(folder_of(file)) / kConfig, ignored)) return;
  const ByteSource source = ByteSource::open(file, std::numeric_limits<Index>::max());
  if (as_text(source.bytes()).starts_with("\x89HDF\r\n")) {
    throw DataError(source.name() +
                        " is HDF5, an import takes a folder with config.json and "
                        "safetensors, or one safetensors file",
                    {"--export FOLDER writes a checkpoint's model in that form"});
  }
  throw DataError(source.name() + ": no config.json beside it, which says what its tensors are",
                  {"--config FILE names one elsewhere"});
}

}  // namespace

HfFolder open_hf_folder(const std::string& argument, const std::string& config_file,
                        Index max_bytes) {
  const bool folder = argument != "-" && is_folder(argument);
  if (argument == "-" && config_file.empty()) {
    throw UsageError("weights on stdin have no config.json beside them: --config is missing");
  }
  if (!folder && config_file.empty()) require_config(argument);
  const std::string home = !config_file.empty() ? folder_of(config_file)
                           : folder             ? argument
                                                : folder_of(argument);
  const Index small = std::min(max_bytes, kLargestConfig);
  HfFolder read;
  {
    const ByteSource config = config_file.empty() ? open_in_folder(home, kConfig, small)
                                                  : ByteSource::open(config_file, small);
    read.config = read_hf_config(as_text(config.bytes()), config.name());
  }
  std::error_code ignored;
  if (fs::exists(fs::path(home) / kGeneration, ignored)) {
    const ByteSource more = open_in_folder(home, kGeneration, small);
    read_generation_config(as_text(more.bytes()), more.name(), read.config);
  }
  read.files = folder ? SafetensorsFolder::open(argument, max_bytes)
                      : SafetensorsFolder::open_file(argument, max_bytes);
  const Index vocab_size = read.config.model.vocab_size;
  SpecialTokens specials = read.config.specials;
  if (adds_bos(home, small)) specials.bos = read.config.bos;
  read.tokenizer = read_hf_tokenizer(home, vocab_size, specials, max_bytes);
  // Where text is another program's to cut, so is its beginning: the ids that come are whole.
  if (!read.tokenizer.note.empty() && specials.bos) {
    read.tokenizer = read_hf_tokenizer(home, vocab_size, read.config.specials, max_bytes);
  }
  return read;
}

}  // namespace attn
