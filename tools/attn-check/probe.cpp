#include "attn-check/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "check/cases/probe_file.h"
#include "check/cases/probes.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

// The outputs that somebody added to an earlier set are not written over.
void make_folder(const std::string& folder) {
  if (folder.empty() || folder == "-") {
    throw UsageError("--make-probe needs -o FOLDER, which it makes");
  }
  std::error_code error;
  if (fs::exists(folder, error) &&
      !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    throw DataError(fmt::format("{}: is there already, and not an empty folder", escaped(folder)));
  }
  fs::create_directories(folder, error);
  if (error) throw DataError(fmt::format("{}: {}", escaped(folder), error.message()));
}

std::string write_probe(const KernelProbe& probe, const ProbeSettings& settings, std::size_t number,
                        const CheckOptions& o, const cli::Session& session) {
  const std::string name = fmt::format("{:02}-{}.{}", number, probe.name, o.npz ? "npz" : "h5");
  const std::string path = (fs::path(o.output) / name).string();
  const TensorSet set = probe_file(probe, settings);
  if (o.npz) {
    const std::vector<std::byte> archive = set.npz();
    write_output(path, archive);
    return name;
  }
  Hdf5Writer writer;
  Provenance provenance;
  provenance.command = session.history();
  provenance.format = "attn-case";
  provenance.seed = o.seed;
  write_provenance(writer, provenance);
  set.write(writer);
  write_output(path, writer.finish());
  return name;
}

std::string shapes_text(const AttentionProblem& problem) {
  return fmt::format("{} x {} queries, {} keys", problem.batch() * problem.heads(), problem.q_len(),
                     problem.kv_len());
}

bool has_pages(const ProbeSettings& settings) {
  return std::find(settings.inputs.begin(), settings.inputs.end(), ProbeInput::kPages) !=
         settings.inputs.end();
}

}  // namespace

int run_make_probe(const CheckOptions& o, cli::Session& session) {
  ProbeSettings settings;
  settings.rules = o.attributes;
  if (o.layer.head_dim) settings.head_dim = *o.layer.head_dim;
  settings.inputs = o.probe_inputs;
  settings.seed = static_cast<std::uint64_t>(o.seed);
  const std::vector<KernelProbe> probes = make_probes(settings);
  make_folder(o.output);
  cli::Table table({{"file", cli::Table::Align::kLeft},
                    {"heads and lengths", cli::Table::Align::kLeft},
                    {"its output gives away", cli::Table::Align::kLeft}});
  cli::Json files = cli::Json::array();
  for (std::size_t n = 0; n < probes.size(); ++n) {
    const KernelProbe& probe = probes[n];
    const std::string name = write_probe(probe, settings, n + 1, o, session);
    table.add({name, shapes_text(probe.asked.problem), probe.reveals});
    files.push_back({{"file", name}, {"name", probe.name}, {"reveals", probe.reveals}});
  }
  session.did(fmt::format("made {}", counted(std::ssize(probes), "probe")));
  cli::Report& report = session.report();
  if (o.format == cli::Format::kJson) {
    report.write(cli::json_text({{"folder", o.output}, {"files", std::move(files)}}));
    return cli::kDone;
  }
  if (o.format == cli::Format::kTsv) {
    report.write(table.tsv());
    return cli::kDone;
  }
  report.write(table.text());
  const std::string folder = escaped(o.output, 4096);
  report.print("\nRun your kernel on q, k and v of each and add its output as out:\n");
  if (o.npz) {
    report.print(
        "  for f in glob.glob('{}/*.npz'):\n"
        "      c = dict(numpy.load(f))\n"
        "      c['out'] = kernel(c['q'], c['k'], c['v'])\n"
        "      numpy.savez(f, **c)\n",
        folder);
  } else {
    report.print(
        "  for f in glob.glob('{}/*.h5'):\n"
        "      with h5py.File(f, 'a') as c:\n"
        "          c['out'] = kernel(c['q'][...], c['k'][...], c['v'][...])\n",
        folder);
  }
  if (!settings.inputs.empty()) {
    report.print("with what else a file holds{}\n",
                 has_pages(settings)
                     ? "; of pages k_pages, v_pages, block_table and kv_lens in place of k and v"
                     : "");
  }
  report.print("then: attn-check -i {}\n", folder);
  return cli::kDone;
}

}  // namespace attn
