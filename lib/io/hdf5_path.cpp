#include "io/hdf5_path.h"

#include <fmt/core.h>

#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_errors.h"

namespace attn {
namespace {

thread_local bool met_external_link = false;

// A soft link may lead to an external one, so looking at the first link alone is not enough.
herr_t refuse_external_link(const char* /*parent_file*/, const char* /*parent_group*/,
                            const char* /*file*/, const char* /*object*/, unsigned* /*flags*/,
                            hid_t /*access*/, void* /*data*/) {
  met_external_link = true;
  return -1;
}

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  }
  return parts;
}

ObjectId open_link(hid_t group, const std::string& link, const std::string& label) {
  H5L_info_t about = {};
  if (H5Lget_info(group, link.c_str(), &about, safe_links().get()) < 0) fail_damaged(label);
  const auto external = [&] {
    return DataError(label + " is an external link to another file; refused");
  };
  if (about.type == H5L_TYPE_EXTERNAL) throw external();
  if (about.type != H5L_TYPE_HARD && about.type != H5L_TYPE_SOFT) {
    throw DataError(label + " is a user-defined link; refused");
  }
  met_external_link = false;
  ObjectId object(H5Oopen(group, link.c_str(), safe_links().get()));
  if (object.valid()) return object;
  if (met_external_link) throw external();
  if (about.type == H5L_TYPE_SOFT) {
    throw DataError(label + " is a link that leads nowhere, or in a circle");
  }
  fail_damaged(label);
}

}  // namespace

const PropertyId& safe_links() {
  static const PropertyId access = [] {
    PropertyId made(H5Pcreate(H5P_LINK_ACCESS));
    constexpr size_t kMostLinks = 8;
    H5Pset_nlinks(made.get(), kMostLinks);
    H5Pset_elink_cb(made.get(), refuse_external_link, nullptr);
    return made;
  }();
  return access;
}

std::string clean_path(std::string_view path) {
  std::string clean;
  for (const std::string& part : components(path)) clean += "/" + part;
  return clean.empty() ? "/" : clean;
}

std::optional<ObjectId> find_object(hid_t file, std::string_view path, const std::string& input) {
  ObjectId here(H5Oopen(file, "/", H5P_DEFAULT));
  if (!here.valid()) fail_damaged(input);
  std::string walked;
  for (const std::string& part : components(path)) {
    if (part.find('\0') != std::string::npos) return std::nullopt;
    if (H5Iget_type(here.get()) != H5I_GROUP) return std::nullopt;
    walked += "/" + part;
    const std::string label = fmt::format("{}: {}", input, escaped(walked));
    const htri_t exists = H5Lexists(here.get(), part.c_str(), safe_links().get());
    if (exists < 0) fail_damaged(label);
    if (exists == 0) return std::nullopt;
    here = open_link(here.get(), part, label);
  }
  return here;
}

}  // namespace attn
