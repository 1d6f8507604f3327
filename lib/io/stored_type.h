#pragma once

#include <optional>
#include <string>

#include "io/hdf5_handle.h"
#include "io/number_layout.h"

namespace attn {

/// Floats and integers up to 16 bytes in either byte order, and the FALSE/TRUE enum that h5py
/// writes for bool. Nothing for all other types; `type_class_name` names them.
std::optional<StoredType> stored_type(hid_t type);

/// bfloat16 kept as 2-byte integers or opaque bytes (which only an attribute can tell).
std::optional<StoredType> as_bfloat16(hid_t type);

/// "string", "compound", "enum", "f32" ... for messages.
std::string type_class_name(hid_t type);

}  // namespace attn
