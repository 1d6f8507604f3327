#include "io/hdf5_listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_errors.h"

namespace attn {
namespace {

struct Names {
  std::vector<std::string> names;
  Index most = 0;
};

// Nothing may be thrown through the library.
herr_t add_name(const char* name, void* data) {
  auto* all = static_cast<Names*>(data);
  if (static_cast<Index>(all->names.size()) >= all->most) return 1;
  all->names.emplace_back(name);
  return 0;
}
herr_t add_link(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* data) {
  return add_name(name, data);
}
herr_t add_attribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* data) {
  return add_name(name, data);
}

struct Walk {
  std::string input;
  Index left = 0;
  std::set<haddr_t> seen;  // groups may hold each other
  const std::function<void(const std::string&, ObjectId)>* visit = nullptr;

  void object(const std::string& path, hid_t parent, const std::string& link, int depth) {
    const std::string label = fmt::format("{}: {}", input, escaped(path));
    ObjectId here(H5Oopen(parent, link.c_str(), H5P_DEFAULT));
    if (!here.valid()) fail_damaged(label);
    H5O_info_t about = {};
    if (H5Oget_info2(here.get(), &about, H5O_INFO_BASIC) < 0) fail_damaged(label);
    if (!seen.insert(about.addr).second) return;
    if (left-- == 0) throw DataError(input + ": holds too many objects");
    if (about.type != H5O_TYPE_GROUP) {
      (*visit)(path, std::move(here));
      return;
    }
    constexpr int kDeepest = 16;
    if (depth > kDeepest) throw DataError(label + ": groups are nested too deeply");
    const std::vector<std::string> names = link_names(here.get(), left + 1, label);
    const GroupId group(H5Gopen2(here.get(), ".", H5P_DEFAULT));
    (*visit)(path, std::move(here));
    for (const std::string& name : names) {
      H5L_info_t info = {};
      if (H5Lget_info(group.get(), name.c_str(), &info, H5P_DEFAULT) < 0) fail_damaged(label);
      if (info.type != H5L_TYPE_HARD) continue;
      object((path == "/" ? "" : path) + "/" + name, group.get(), name, depth + 1);
    }
  }
};

}  // namespace

std::vector<std::string> link_names(hid_t group, Index most, const std::string& label) {
  Names all = {{}, most};
  hsize_t at = 0;
  const herr_t result = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, add_link, &all);
  if (result < 0) fail_damaged(label);
  if (result > 0) throw DataError(fmt::format("{} holds more than {} names", label, most));
  std::sort(all.names.begin(), all.names.end());
  return std::move(all.names);
}

std::vector<std::string> attribute_names(hid_t object, const std::string& label) {
  constexpr Index kMostAttributes = 10000;
  Names all = {{}, kMostAttributes};
  hsize_t at = 0;
  const herr_t result =
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, add_attribute, &all);
  if (result < 0) fail_damaged(label);
  if (result > 0) throw DataError(label + " has too many attributes");
  std::sort(all.names.begin(), all.names.end());
  return std::move(all.names);
}

void walk_objects(hid_t file, Index most, const std::string& input,
                  const std::function<void(const std::string&, ObjectId)>& visit) {
  Walk walk = {input, most, {}, &visit};
  walk.object("/", file, "/", 0);
}

}  // namespace attn
