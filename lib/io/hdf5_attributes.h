#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/index.h"
#include "io/hdf5_contents.h"
#include "io/hdf5_handle.h"

namespace attn {

/// Attributes of an open object, by name only. Nothing where there is none of that name; DataError
/// ("label: attribute 'heads' ...") for another kind, more than 1 MiB, or damage.
template <class T>
std::optional<std::vector<T>> number_attribute(hid_t object, const std::string& attribute,
                                               const std::string& label);

/// One string: fixed or variable length, padded with NUL or blanks, scalar or an array of one.
std::optional<std::string> string_attribute(hid_t object, const std::string& attribute,
                                            const std::string& label);

/// What one value an attribute holds; kOther for several values. Nothing where there is none of
/// that name.
std::optional<AttributeKind> attribute_kind(hid_t object, const std::string& attribute,
                                            const std::string& label);

/// The bytes as stored of a plain attribute (numbers or fixed-length text) with its type and shape
/// in front, for the content digest; empty for all other types.
std::vector<std::byte> plain_attribute_bytes(hid_t attribute, const std::string& label);

}  // namespace attn
