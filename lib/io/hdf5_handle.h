#pragma once

// Only inside lib/io: everyone else talks to Hdf5Reader and Hdf5Writer.
#include <hdf5.h>

#include <utility>

namespace attn {

/// Owns one HDF5 identifier and closes it.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      if (id_ >= 0) Close(id_);
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) Close(id_);
  }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

using FileId = Handle<H5Fclose>;
using ObjectId = Handle<H5Oclose>;
using GroupId = Handle<H5Gclose>;
using DatasetId = Handle<H5Dclose>;
using TypeId = Handle<H5Tclose>;
using SpaceId = Handle<H5Sclose>;
using AttributeId = Handle<H5Aclose>;
using PropertyId = Handle<H5Pclose>;

}  // namespace attn
