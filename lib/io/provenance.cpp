#include "io/provenance.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace attn {
namespace {

constexpr std::size_t kMostBytes = 32000;  // under the 32 KiB of an attribute, with its first line
constexpr std::string_view kLeftOut = " earlier lines left out)";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end != 0) lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

// N where the first line is our own "(N earlier lines left out)", else 0.
Index left_out_before(std::string_view line) {
  if (!line.starts_with('(') || !line.ends_with(kLeftOut)) return 0;
  const std::string_view digits = line.substr(1, line.size() - 1 - kLeftOut.size());
  Index count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && count > 0 && count < (Index{1} << 40) ? count : 0;
}

template <class File>
std::string history_of(const File& file) {
  try {
    return file.text_attribute("/", "history").value_or("");
  } catch (const DataError&) {
    return "";  // another maker's attribute of that name is no history of ours
  }
}

}  // namespace

std::string extended_history(std::string_view earlier, std::string_view line) {
  // One program, one line, whatever its options hold.
  std::string own(line.substr(0, kMostBytes));
  std::replace(own.begin(), own.end(), '\n', ' ');
  std::vector<std::string_view> lines = lines_of(earlier);
  Index left_out = lines.empty() ? 0 : left_out_before(lines.front());
  if (left_out > 0) lines.erase(lines.begin());
  std::size_t bytes = own.size();
  std::size_t first = lines.size();
  while (first > 0 && bytes + lines[first - 1].size() + 1 <= kMostBytes) {
    bytes += lines[--first].size() + 1;
  }
  left_out += static_cast<Index>(first);
  std::string history;
  if (left_out > 0) history = fmt::format("({}{}\n", left_out, kLeftOut);
  for (std::size_t i = first; i < lines.size(); ++i) {
    history += lines[i];
    history += '\n';
  }
  return history + own;
}

std::string read_history(const Hdf5Reader& reader) {
  return history_of(reader);
}

std::string read_history(const TensorFile& file) {
  return history_of(file);
}

void write_provenance(Hdf5Writer& writer, const Provenance& provenance) {
  writer.attribute("/", "format", provenance.format);
  writer.attribute("/", "format_version", provenance.format_version);
  writer.attribute("/", "tool_version", ATTNTOOLS_VERSION);
  if (provenance.seed) writer.attribute("/", "seed", *provenance.seed);
  writer.attribute("/", "history",
                   extended_history(provenance.earlier_history, provenance.command));
}

}  // namespace attn
