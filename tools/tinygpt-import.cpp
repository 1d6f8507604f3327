// Turns models in Hugging Face's form (config.json and safetensors) into checkpoints, and back.
//
//   tinygpt-import gpt2/ -o gpt2.h5
//   tinygpt-import llama/ --dry-run
//   tinygpt-import -i gpt2.h5 --export folder/ --dtype bf16

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/counted.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/output.h"
#include "io/provenance.h"
#include "io/safetensors_header.h"
#include "io/system_error.h"
#include "model/checkpoint.h"
#include "model/import/export_model.h"
#include "model/import/hf_folder.h"
#include "model/import/import_model.h"
#include "tinygpt-import/listing.h"

namespace {

using namespace attn;

struct Options {
  std::string input;
  std::string config;
  std::string output;
  std::string export_folder;
  DType dtype = DType::kF32;
  bool dry_run = false;
  bool no_verify = false;
  cli::Format format = cli::Format::kText;
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare(cli::OptionTable& table, Options& options) {
  table.group("Model");
  cli::input_option(table, options.input,
                    "folder with config.json and safetensors, or one safetensors file, - for "
                    "stdin; with --export a checkpoint")
      .argument("FOLDER")
      .required();
  table.input("config", options.config, "the model's config.json")
      .default_is("the one in the folder, or beside the file");
  cli::output_option(table, options.output, "checkpoint to write, - for stdout");

  table.group("The way back");
  table.text("export", options.export_folder, "write the checkpoint's model into this folder")
      .argument("FOLDER")
      .not_data();
  table.choice("dtype", options.dtype,
               std::vector<std::pair<std::string, DType>>{
                   {"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}},
               "number type of the exported weights");

  table.group("Run");
  table.flag("dry-run", options.dry_run, "write nothing; list which tensor holds what").not_data();
  cli::format_options(
      table, options.format,
      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson});
  table.flag("no-verify", options.no_verify, "export a checkpoint whose digest does not match");
  cli::max_bytes_option(table, options.max_bytes);

  table.check([&options, &table] {
    const bool exports = table.given("export");
    if (options.export_folder == "-") {
      throw UsageError("--export wants a folder: stdout holds one file alone");
    }
    if (exports && !options.output.empty()) {
      throw UsageError("--export and --output contradict each other: give one of them");
    }
    if (!exports && options.output.empty() && !options.dry_run) {
      throw UsageError("nothing to write: -o or --export is missing",
                       {"--dry-run lists what the model's tensors hold"});
    }
    for (const char* option : {"dtype", "no-verify"}) {
      if (!exports && table.given(option)) {
        throw UsageError(fmt::format("--{} is for --export", option));
      }
    }
    if (exports && table.given("config")) {
      throw UsageError("--config is for an import: a checkpoint knows its own shape");
    }
  });
}

// What lies in the folder of a model and is or may be part of it.
std::vector<std::string> model_files(const std::string& argument) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path folder = argument;
  if (!fs::is_directory(folder, ignored)) folder = folder.parent_path();
  if (folder.empty()) folder = ".";
  std::vector<std::string> files = {argument};
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string end = entry.path().extension().string();
    if (end == ".safetensors" || end == ".json" || end == ".txt" || end == ".bpe") {
      files.push_back(entry.path().string());
    }
  }
  return files;
}

void check_import_paths(const Options& options) {
  std::error_code ignored;
  if (options.input != "-" && !std::filesystem::exists(options.input, ignored)) {
    fail_system(output_name(options.input), ENOENT);
  }
  if (options.output.empty()) return;
  for (const std::string& input : {options.input, options.config}) {
    if (!input.empty()) check_output(options.output, model_files(input));
  }
}

int run_import(const Options& options, cli::Session& session) {
  check_import_paths(options);
  const HfFolder folder = open_hf_folder(options.input, options.config, options.max_bytes);
  const ImportPlan plan = plan_import(folder.config, folder.files);
  Listing listing;
  listing.family = plan.config.family;
  listing.config = plan.config.model;
  for (const ImportLine& line : plan.lines) {
    listing.tensors.push_back({line.place.entry->name, line.place.entry->type_name, line.mapping});
  }
  listing.passed_over = plan.passed_over;
  const Tokenizer* tokenizer = folder.tokenizer.tokenizer.get();
  if (tokenizer != nullptr) listing.tokenizer = tokenizer->data().kind;

  if (!options.dry_run) {
    const auto model = import_model(plan);
    Hdf5Writer writer;
    write_checkpoint(writer, *model, tokenizer, nullptr);
    Provenance provenance;
    provenance.format = kCheckpointFormat;
    provenance.command = session.history();
    write_provenance(writer, provenance);
    write_output(options.output, writer.finish());
  }
  for (const std::string& note : plan.notes) session.warn(note);
  if (!folder.tokenizer.note.empty()) session.note(folder.tokenizer.note);
  if (plan.config.ends.size() > 1) {
    session.note(
        fmt::format("eos_token_id has {} tokens: {} is kept as the end, the others are not",
                    plan.config.ends.size(), plan.config.ends.front()));
  }
  for (const std::string& key : plan.config.unknown) {
    session.note(fmt::format("config.json: '{}' is not known and passed over", escaped(key)));
  }
  session.did(fmt::format("{} {} of {}", options.dry_run ? "read" : "imported",
                          counted(std::ssize(listing.tensors), "tensor"),
                          input_name(options.input)));
  session.report().write(listing_report(listing, options.dry_run, options.format));
  return cli::kDone;
}

// An export's folder is its own: what else lies there would be read with it. True where it was made
// now.
bool prepare_folder(const std::string& folder, const std::vector<ExportedFile>& files) {
  namespace fs = std::filesystem;
  const std::string name = output_name(folder);
  const bool made = mkdir(folder.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) fail_system(name, errno);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string found = entry.path().filename().string();
    bool ours = false;
    for (const ExportedFile& file : files) ours = ours || file.name == found;
    if (!ours) {
      throw DataError(fmt::format("{}: holds {} already; a model wants a folder of its own", name,
                                  escaped(found)));
    }
  }
  if (error) fail_system(name, error.value());
  return made;
}

// All files or, in a folder that was not there before, nothing.
void write_folder(const std::string& folder, const std::vector<ExportedFile>& files) {
  const bool made = prepare_folder(folder, files);
  try {
    for (const ExportedFile& file : files) write_output(folder + "/" + file.name, file.bytes);
  } catch (...) {
    std::error_code ignored;
    if (made) {
      for (const ExportedFile& file : files)
        std::filesystem::remove(folder + "/" + file.name, ignored);
      std::filesystem::remove(folder, ignored);
    }
    throw;
  }
}

int run_export(const Options& options, cli::Session& session) {
  const Hdf5Reader reader =
      Hdf5Reader::open(options.input, {options.max_bytes, !options.no_verify});
  const Checkpoint checkpoint = read_checkpoint(reader);
  const ModelConfig& config = checkpoint.model->config();
  Listing listing;
  listing.family = &hf_family_of(config);
  listing.config = config;
  for (HfMapping& mapping : hf_mappings(*listing.family, config)) {
    const std::string name = hf_full_name(*listing.family, mapping.name);
    listing.tensors.push_back(
        {name, std::string(safetensors_type_name(options.dtype)), std::move(mapping)});
  }
  const Tokenizer* tokenizer = checkpoint.tokenizer.get();
  if (tokenizer != nullptr) listing.tokenizer = tokenizer->data().kind;
  const std::vector<ExportedFile> files = export_model(*checkpoint.model, tokenizer, options.dtype);
  if (!options.dry_run) write_folder(options.export_folder, files);
  if (tokenizer != nullptr && listing.tokenizer != "ids" &&
      std::none_of(files.begin(), files.end(),
                   [](const ExportedFile& file) { return file.name == "vocab.json"; })) {
    session.note(fmt::format("a tokenizer of {} has no form there: only token ids are the same",
                             listing.tokenizer));
  }
  session.did(fmt::format("{} {} of {}{}", options.dry_run ? "read" : "exported",
                          counted(std::ssize(listing.tensors), "tensor"), input_name(options.input),
                          options.dry_run ? "" : " to " + output_name(options.export_folder)));
  session.report().write(listing_report(listing, options.dry_run, options.format));
  return cli::kDone;
}

int run(const Options& options, cli::Session& session) {
  return session.given("export") ? run_export(options, session) : run_import(options, session);
}

}  // namespace

int main(int argc, char** argv) {
  return attn::cli::tool_main<Options>(
      {.name = "tinygpt-import",
       .summary = "turns GPT-2- and Llama-shaped models in Hugging Face's form into checkpoints, "
                  "and back",
       .usage = "FOLDER -o FILE",
       .examples = {{"tinygpt-import gpt2/ -o gpt2.h5",
                     "a checkpoint that the other programs read"},
                    {"tinygpt-import llama/ --dry-run",
                     "which tensor holds which of our parameters"},
                    {"cat w.safetensors | tinygpt-import - --config config.json -o model.h5",
                     "one file from a pipe"},
                    {"tinygpt-import -i gpt2.h5 --export out/ --dtype bf16",
                     "config.json, model.safetensors and the vocabulary's files"}},
       .notes =
           "Read are model_type gpt2 (fused, transposed c_attn), llama, mistral without a window "
           "and qwen2 (biases on queries, keys and values), in F32, F16, BF16 or F64, in one file "
           "or the files of model.safetensors.index.json. Rope turns halves; its scalings linear, "
           "dynamic, yarn, llama3 and longrope are built, dynamic and longrope up to the length "
           "of training, beyond which they would move the keys that a cache holds.\n"
           "\n"
           "Every tensor must be one that config.json asks for, and all of those must be there: "
           "names that are not understood are refused, known buffers (attention masks, "
           "rotary_emb.inv_freq) passed over. So is a key of config.json that would change the "
           "mathematics in a way that is not built. A head that is missing (GPT-2) or equal to "
           "the embedding is tied; a different one is the model's own.\n"
           "\n"
           "vocab.json with merges.txt, or encoder.json with vocab.bpe, becomes GPT-2's byte-level "
           "tokenizer inside the checkpoint; a vocab.json of single characters one of characters; "
           "without them the model reads token ids. eos_token_id comes along (the first of "
           "several), from generation_config.json before config.json. bos_token_id "
           "is put before prompts where tokenizer_config.json says add_bos_token, else by "
           "tinygpt-generate --bos alone.\n"
           "\n"
           "An export can be imported again, or loaded by the transformers library; an import of "
           "it is the same checkpoint where --dtype holds its numbers. Models of other shapes are "
           "refused by the part that has no place there."},
      argc, argv, declare, run);
}
