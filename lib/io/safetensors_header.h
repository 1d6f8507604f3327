#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// One tensor as the header of a safetensors file describes it.
struct SafetensorsEntry {
  std::string name;
  std::string type_name;      ///< the format's word: "F32", "BF16", "F8_E4M3"
  std::optional<DType> type;  ///< nothing for the eight-bit floats, which are only passed over
  Shape shape;                ///< empty for a scalar
  Index begin = 0;            ///< its bytes within the data: begin .. end - 1
  Index end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< as they stand there
  std::map<std::string, std::string> metadata;
};

/// The header of a safetensors file: one JSON object, tensor name -> {dtype, shape, data_offsets},
/// and `__metadata__` of texts. Nothing in it is trusted: it is read event by event, so that memory
/// is taken for tensors alone and a fault ends the reading; types are words of the format, extents
/// and offsets whole numbers, the shape times the width of its type is the span (counted without
/// overflow), no name stands twice in one object, and together the tensors cover the data_bytes
/// that follow once each, without a gap. DataErrors name the file, as `file`, and the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view text, Index data_bytes,
                                           const std::string& file);

/// The format's word for a type: "F32".
std::string_view safetensors_type_name(DType type);

}  // namespace attn
