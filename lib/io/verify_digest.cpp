#include "io/verify_digest.h"

#include <fmt/core.h>

#include <vector>

#include "core/error.h"
#include "io/child_process.h"
#include "io/content_digest.h"
#include "io/hdf5_attributes.h"
#include "io/hdf5_errors.h"
#include "io/hdf5_image.h"
#include "io/hdf5_library.h"
#include "io/hdf5_listing.h"
#include "io/image_digest.h"
#include "io/stored_dataset.h"

namespace attn {
namespace {

void add_object(ContentDigest& digest, const std::string& path, ObjectId object,
                std::span<const std::byte> image, Index max_bytes) {
  for (const std::string& name : attribute_names(object.get(), path)) {
    const AttributeId attribute(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT));
    if (!attribute.valid()) fail_damaged(path);
    const auto bytes = plain_attribute_bytes(attribute.get(), path);
    if (!bytes.empty()) digest.attribute(path, name, bytes);
  }
  if (H5Iget_type(object.get()) != H5I_DATASET) return;
  const TypeId type(H5Dget_type(object.get()));
  if (!type.valid()) fail_damaged(path);
  if (!stored_type(type.get())) return;  // text
  const StoredDataset dataset(std::move(object), path, image, max_bytes);
  std::vector<std::byte> buffer;
  digest.dataset(path, dataset.type().name(), dataset.shape(), dataset.raw(buffer));
}

// The stored digest and the one that the content has now, or a DataError.
bool content_matches(std::span<const std::byte> image, Index max_bytes) {
  const LibraryScope scope;
  const FileId file = open_image(image, "");
  const auto stored = string_attribute(file.get(), kDigestAttribute, "");
  ContentDigest digest;
  WalkEvents events;
  events.object = [&](const std::string& path, ObjectId object) {
    add_object(digest, path, std::move(object), image, max_bytes);
  };
  constexpr Index kMostObjects = 100000;
  return walk_objects(file.get(), kMostObjects, "", events) && stored == digest.text();
}

}  // namespace

void verify_digest(std::span<const std::byte> image, const std::string& name, Index max_bytes) {
  const ImageDigest state = check_image_digest(image);
  if (state == ImageDigest::kMatches) return;
  if (state == ImageDigest::kAbsent && !stands_near_start(image, kDigestAttribute)) return;
  // A repacked file may be compressed; the time is for a slow disk and 50 MB/s.
  ChildLimits limits;
  limits.cpu_seconds = 10 + static_cast<int>(max_bytes / 50'000'000);
  limits.extra_memory += static_cast<std::size_t>(max_bytes);
  const ChildAnswer answer = run_in_child(
      [&] { return std::string(content_matches(image, max_bytes) ? "same" : "changed"); }, limits);
  if (answer.trouble.empty() && answer.text == "same") return;
  throw DataError(name + ": damaged: its content does not match its digest",
                  {"--no-verify reads a file that was edited on purpose"});
}

}  // namespace attn
