#include "io/dimension_scale.h"

#include <cstddef>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

struct Use {
  hobj_ref_t dataset;
  int axis;
};

TypeId use_type() {
  TypeId type(H5Tcreate(H5T_COMPOUND, sizeof(Use)));
  H5Tinsert(type.get(), "dataset", offsetof(Use, dataset), H5T_STD_REF_OBJ);
  H5Tinsert(type.get(), "dimension", offsetof(Use, axis), H5T_NATIVE_INT);
  return type;
}

std::size_t entries(hid_t attribute) {
  const SpaceId space(H5Aget_space(attribute));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

// An attribute cannot grow: it is read by the caller, and written anew here.
bool replace(hid_t object, const char* name, hid_t file_type, hid_t memory_type, std::size_t count,
             const void* values) {
  if (H5Aexists(object, name) > 0) H5Adelete(object, name);
  const hsize_t extent = count;
  const SpaceId space(H5Screate_simple(1, &extent, nullptr));
  const AttributeId made(
      H5Acreate2(object, name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return made.valid() && H5Awrite(made.get(), memory_type, values) >= 0;
}

bool add_use(hid_t file, const std::string& dataset, Index axis, const std::string& scale) {
  const DatasetId owner(H5Dopen2(file, scale.c_str(), H5P_DEFAULT));
  const TypeId type = use_type();
  std::vector<Use> uses;
  if (H5Aexists(owner.get(), "REFERENCE_LIST") > 0) {
    const AttributeId old(H5Aopen(owner.get(), "REFERENCE_LIST", H5P_DEFAULT));
    uses.resize(entries(old.get()));
    if (H5Aread(old.get(), type.get(), uses.data()) < 0) return false;
  }
  Use use = {};
  if (H5Rcreate(&use.dataset, file, dataset.c_str(), H5R_OBJECT, -1) < 0) return false;
  use.axis = static_cast<int>(axis);
  uses.push_back(use);
  // Without the padding of the C struct, whose bytes would be whatever memory held.
  const TypeId packed(H5Tcopy(type.get()));
  H5Tpack(packed.get());
  return replace(owner.get(), "REFERENCE_LIST", packed.get(), type.get(), uses.size(), uses.data());
}

bool add_to_list(hid_t file, const std::string& dataset, Index axis, const std::string& scale) {
  const DatasetId owner(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT));
  const SpaceId data_space(H5Dget_space(owner.get()));
  const int rank = H5Sget_simple_extent_ndims(data_space.get());
  require_shape(axis >= 0 && axis < rank, "attach_scale: no such axis");
  const TypeId type(H5Tvlen_create(H5T_STD_REF_OBJ));
  std::vector<hvl_t> lists(static_cast<std::size_t>(rank), hvl_t{0, nullptr});
  std::vector<std::vector<hobj_ref_t>> references(lists.size());
  if (H5Aexists(owner.get(), "DIMENSION_LIST") > 0) {
    const AttributeId old(H5Aopen(owner.get(), "DIMENSION_LIST", H5P_DEFAULT));
    if (H5Aread(old.get(), type.get(), lists.data()) < 0) return false;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto* first = static_cast<const hobj_ref_t*>(lists[i].p);
      references[i].assign(first, first + lists[i].len);
    }
    const SpaceId list_space(H5Aget_space(old.get()));
    H5Dvlen_reclaim(type.get(), list_space.get(), H5P_DEFAULT, lists.data());
  }
  hobj_ref_t reference = 0;
  if (H5Rcreate(&reference, file, scale.c_str(), H5R_OBJECT, -1) < 0) return false;
  references[static_cast<std::size_t>(axis)].push_back(reference);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i] = {references[i].size(), references[i].data()};
  }
  return replace(owner.get(), "DIMENSION_LIST", type.get(), type.get(), lists.size(), lists.data());
}

}  // namespace

bool attach_scale(hid_t file, const std::string& dataset, Index axis, const std::string& scale) {
  return add_to_list(file, dataset, axis, scale) && add_use(file, dataset, axis, scale);
}

}  // namespace attn
