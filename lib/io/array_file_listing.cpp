// What a file of arrays holds.

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/array_file.h"
#include "io/contents_text.h"
#include "io/hdf5_path.h"

namespace attn {

bool ArrayFile::has_group(std::string_view path) const {
  const std::string clean = clean_path(path);
  if (clean == "/") return true;
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.path.starts_with(clean + "/"); });
}

std::vector<std::string> ArrayFile::paths() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.path);
  return names;
}

std::vector<std::string> ArrayFile::children(std::string_view group, Index most) const {
  const std::string clean = clean_path(group);
  if (!has_group(clean)) {
    throw DataError(fmt::format("{}: no group {}", name(), escaped(clean)));
  }
  const std::string prefix = clean == "/" ? clean : clean + "/";
  std::set<std::string> names;
  for (const Entry& entry : entries_) {
    if (!entry.path.starts_with(prefix)) continue;
    const std::string rest = entry.path.substr(prefix.size());
    names.insert(rest.substr(0, rest.find('/')));
  }
  if (static_cast<Index>(names.size()) > most) {
    throw DataError(fmt::format("{}: {} holds more than {} names", name(), escaped(clean), most));
  }
  return {names.begin(), names.end()};
}

FileContents ArrayFile::contents(Index most) const {
  FileContents held;
  std::set<std::string> groups;
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry* a, const Entry* b) { return a->path < b->path; });
  for (const Entry* entry : sorted) {
    for (std::size_t at = entry->path.find('/', 1); at != std::string::npos;
         at = entry->path.find('/', at + 1)) {
      std::string group = entry->path.substr(0, at);
      if (!groups.insert(group).second) continue;
      held.objects.push_back({std::move(group), "group", "", std::nullopt, false, {}});
    }
    if (static_cast<Index>(held.objects.size()) >= most) {
      held.complete = false;
      break;
    }
    try {
      const NpyHeader& about = header(*entry);
      const bool numbers = about.kind == NpyHeader::Kind::kNumbers;
      std::string type = about.type_name();
      if (!numbers && about.size == 1) type += fmt::format(" '{}'", text_of(*entry));
      held.objects.push_back({entry->path, "dataset", std::move(type), about.shape, numbers, {}});
    } catch (const DataError& error) {
      std::string what = error.what();
      const std::string called = label(*entry) + ": ";
      if (what.starts_with(called)) what.erase(0, called.size());
      held.objects.push_back({entry->path, "damaged", std::move(what), std::nullopt, false, {}});
    }
  }
  return held;
}

std::string ArrayFile::only_dataset(const std::string& advice) const {
  if (!zip_) return kOnly;
  return only_dataset_of(contents(), name(), advice);
}

}  // namespace attn
