#include "io/safetensors_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "io/system_error.h"

namespace attn {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr Index kLargestIndex = Index{64} << 20;

std::string path_of(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

bool exists(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

bool is_bare(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

// Tensor name -> file name.
std::map<std::string, std::string> read_index(const std::string& folder) {
  const ByteSource source = open_in_folder(folder, kIndex, kLargestIndex);
  const nlohmann::json document = parse_json_object(as_text(source.bytes()), source.name());
  const auto found = document.find("weight_map");
  if (found == document.end() || !found->is_object()) {
    throw DataError(fmt::format("{}: its weight_map, tensor names to file names, is {}",
                                source.name(), found == document.end() ? "missing" : "no object"));
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, file] : found->items()) {
    if (!file.is_string()) {
      throw DataError(
          fmt::format("{}: weight_map gives '{}' no file's name", source.name(), escaped(tensor)));
    }
    const auto& name = file.get_ref<const std::string&>();
    if (!is_bare(name)) {
      throw DataError(
          fmt::format("{}: weight_map names '{}', which is no bare name of a file beside "
                      "it",
                      source.name(), escaped(name)));
    }
    map.emplace(tensor, name);
  }
  return map;
}

}  // namespace

ByteSource open_in_folder(const std::string& folder, const std::string& name, Index max_bytes) {
  const std::string path = path_of(folder, name);
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) fail_system(input_name(path), errno);
  if (!S_ISREG(status.st_mode)) {
    throw DataError(fmt::format("{}: is not a regular file", input_name(path)));
  }
  return ByteSource::open(path, max_bytes);
}

SafetensorsFolder SafetensorsFolder::open(const std::string& folder, Index max_bytes) {
  SafetensorsFolder model;
  if (exists(path_of(folder, kSingle))) {
    return of(SafetensorsFile(open_in_folder(folder, kSingle, max_bytes)));
  }
  if (!exists(path_of(folder, kIndex))) {
    throw DataError(fmt::format("{}: holds neither {} nor {}{}", input_name(folder), kSingle,
                                kIndex,
                                exists(path_of(folder, "pytorch_model.bin"))
                                    ? "; pytorch_model.bin is a pickle, which is not read"
                                    : ""));
  }
  const std::map<std::string, std::string> index = read_index(folder);
  model.name_ = input_name(path_of(folder, kIndex));
  std::vector<std::string> names;
  names.reserve(index.size());
  for (const auto& entry : index) names.push_back(entry.second);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Index left = max_bytes;
  std::unordered_map<const SafetensorsFile*, std::string> called;
  for (const std::string& name : names) {
    ByteSource source = open_in_folder(folder, name, left);
    left -= static_cast<Index>(source.bytes().size());
    model.add(SafetensorsFile(std::move(source)));
    called.emplace(model.files_.back().get(), name);
  }
  for (const auto& [tensor, file] : index) {
    const SafetensorsPlace* place = model.find(tensor);
    if (place == nullptr || called.at(place->file) != file) {
      throw DataError(fmt::format("{}: weight_map puts '{}' into {}, {}", model.name_,
                                  escaped(tensor), escaped(file),
                                  place == nullptr ? "but it is in none of its files"
                                                   : "but it is in " + place->file->name()));
    }
  }
  for (const SafetensorsPlace& place : model.tensors_) {
    if (index.count(place.entry->name) == 0) {
      throw DataError(fmt::format("{}: '{}' is not in the weight_map of {}", place.file->name(),
                                  escaped(place.entry->name), kIndex));
    }
  }
  return model;
}

SafetensorsFolder SafetensorsFolder::open_file(const std::string& argument, Index max_bytes) {
  return of(SafetensorsFile::open(argument, max_bytes));
}

SafetensorsFolder SafetensorsFolder::of(SafetensorsFile file) {
  SafetensorsFolder model;
  model.name_ = file.name();
  model.add(std::move(file));
  return model;
}

void SafetensorsFolder::add(SafetensorsFile file) {
  files_.push_back(std::make_unique<const SafetensorsFile>(std::move(file)));
  const SafetensorsFile* held = files_.back().get();
  for (const SafetensorsEntry& entry : held->entries()) {
    const auto added = by_name_.emplace(entry.name, tensors_.size());
    if (!added.second) {
      throw DataError(fmt::format("{}: '{}' stands in {} too: a duplicate", held->name(),
                                  escaped(entry.name), tensors_[added.first->second].file->name()));
    }
    tensors_.push_back({held, &entry});
  }
}

const SafetensorsPlace* SafetensorsFolder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace attn
