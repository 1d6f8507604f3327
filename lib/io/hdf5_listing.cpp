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

std::string link_target(hid_t group, const std::string& name, const H5L_info_t& about) {
  constexpr std::size_t kMostBytes = 4096;
  if (about.type != H5L_TYPE_SOFT && about.type != H5L_TYPE_EXTERNAL) return "(user-defined)";
  const std::size_t size = about.u.val_size;
  if (size == 0 || size > kMostBytes) return "(damaged)";
  std::string value(size + 1, '\0');
  if (H5Lget_val(group, name.c_str(), value.data(), size, H5P_DEFAULT) < 0) return "(damaged)";
  value.resize(size);
  if (about.type == H5L_TYPE_SOFT) return value.substr(0, value.find('\0'));
  unsigned flags = 0;
  const char* file = nullptr;
  const char* object = nullptr;
  if (H5Lunpack_elink_val(value.data(), size, &flags, &file, &object) < 0) return "(damaged)";
  return fmt::format("{}:{}", file, object);
}

class Walk {
 public:
  Walk(std::string input, Index most, const WalkEvents& events)
      : input_(std::move(input)), left_(most), events_(events) {}

  // False where there were more objects than asked for.
  bool visit(const std::string& path, hid_t parent, const std::string& link, int depth) {
    if (left_-- <= 0) return false;
    try {
      return open(path, parent, link, depth);
    } catch (const DataError& error) {
      if (!events_.damage) throw;
      events_.damage(path, error);
      return true;
    }
  }

 private:
  bool open(const std::string& path, hid_t parent, const std::string& link, int depth) {
    const std::string label = (input_.empty() ? "" : input_ + ": ") + escaped(path);
    ObjectId here(H5Oopen(parent, link.c_str(), H5P_DEFAULT));
    H5O_info_t about = {};
    if (!here.valid() || H5Oget_info2(here.get(), &about, H5O_INFO_BASIC) < 0) fail_damaged(label);
    if (!seen_.insert(about.addr).second) return true;
    if (about.type != H5O_TYPE_GROUP) {
      events_.object(path, std::move(here));
      return true;
    }
    constexpr int kDeepest = 16;
    if (depth > kDeepest) throw DataError(label + ": groups are nested too deeply");
    constexpr Index kMostNames = 1000000;
    const std::vector<std::string> names = link_names(here.get(), kMostNames, label);
    const GroupId group(H5Gopen2(here.get(), ".", H5P_DEFAULT));
    if (!group.valid()) fail_damaged(label);
    events_.object(path, std::move(here));
    for (const std::string& name : names) {
      H5L_info_t info = {};
      if (H5Lget_info(group.get(), name.c_str(), &info, H5P_DEFAULT) < 0) fail_damaged(label);
      const std::string below = (path == "/" ? "" : path) + "/" + name;
      if (info.type == H5L_TYPE_HARD) {
        if (!visit(below, group.get(), name, depth + 1)) return false;
      } else if (events_.link) {
        if (left_-- <= 0) return false;
        events_.link(below, link_target(group.get(), name, info));
      }
    }
    return true;
  }

  std::string input_;
  Index left_;
  const WalkEvents& events_;
  std::set<haddr_t> seen_;  // groups may hold each other
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

bool walk_objects(hid_t file, Index most, const std::string& input, const WalkEvents& events) {
  return Walk(input, most, events).visit("/", file, "/", 0);
}

}  // namespace attn
