#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "io/hdf5_writer.h"

namespace attn {

/// Numbers that take the place of those in a dataset of the same shape.
struct NewNumbers {
  std::string path;
  Tensor<double> values;
};

/// A copy of a file in which some datasets hold other numbers, rounded to the types they are stored
/// in, and the root's `history` is another. Everything else stays: other datasets, attributes,
/// links, types, chunks and filters; but for a digest, which would no longer be true. `name` is
/// what messages call the file. DataError for a dataset that holds whole numbers, and for what the
/// library cannot write.
Hdf5Image rewritten(std::span<const std::byte> image, const std::string& name,
                    const std::vector<NewNumbers>& replaced, const std::string& history);

}  // namespace attn
