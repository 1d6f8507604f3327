#include "io/safetensors_writer.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "io/safetensors_header.h"

namespace attn {
namespace {

constexpr std::size_t kPrefix = 8;     // bytes of the header's length
constexpr std::size_t kAlignment = 8;  // of the data

// Writes a number rounded to the type; false where it is not finite there.
bool put(float value, DType type, std::byte* to) {
  float kept = value;
  if (type == DType::kF32) {
    std::memcpy(to, &value, sizeof value);
  } else {
    const bool half = type == DType::kF16;
    const std::uint16_t bits = half ? float_to_f16(value) : float_to_bf16(value);
    kept = half ? f16_to_float(bits) : bf16_to_float(bits);
    std::memcpy(to, &bits, sizeof bits);
  }
  return std::isfinite(kept);
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::vector<SafetensorsTensor>& tensors, DType type)
    : tensors_(tensors), type_(type) {
  require_shape(type == DType::kF32 || type == DType::kF16 || type == DType::kBF16,
                "safetensors writer: the type is F32, F16 or BF16");
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  Index end = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const auto count = checked_product(tensor.shape);
    const auto bytes = count ? checked_mul(*count, dtype_bytes(type)) : std::nullopt;
    const auto next = bytes ? checked_add(end, *bytes) : std::nullopt;
    require_shape(next.has_value(), "safetensors writer: the file leaves 63 bits");
    header[tensor.name] = {{"dtype", safetensors_type_name(type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {end, *next}}};
    end = *next;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  place_ = kPrefix + text.size();
  bytes_.resize(place_ + static_cast<std::size_t>(end));
  for (std::size_t i = 0; i < kPrefix; ++i) {
    bytes_[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xffU);
  }
  std::memcpy(bytes_.data() + kPrefix, text.data(), text.size());
}

void SafetensorsWriter::write(const float* values) {
  require_shape(next_ < tensors_.size(), "safetensors writer: more tensors than were announced");
  const SafetensorsTensor& tensor = tensors_[next_++];
  const Index count = *checked_product(tensor.shape);
  for (Index i = 0; i < count; ++i) {
    if (!put(values[i], type_, bytes_.data() + place_)) {
      throw DataError(fmt::format("'{}': number {} is {}, which {} cannot hold", tensor.name, i,
                                  values[i], safetensors_type_name(type_)));
    }
    place_ += static_cast<std::size_t>(dtype_bytes(type_));
  }
}

std::vector<std::byte> SafetensorsWriter::finish() {
  require_shape(next_ == tensors_.size(), "safetensors writer: tensors are missing");
  return std::move(bytes_);
}

}  // namespace attn
