#pragma once

#include <string>
#include <string_view>

#include "core/tensor.h"
#include "io/hdf5_reader.h"

namespace attn {

/// Numbers as text: rows end at `;` or a line end, numbers stand apart by blanks, tabs or commas;
/// lines that begin with # are left out. One row gives one axis of numbers, more give (rows,
/// columns); nan and inf are numbers. `name` is what messages call the text. Throws DataError for
/// what is no number, for rows of unlike length, and for nothing at all.
Tensor<double> parse_numbers(std::string_view text, const std::string& name);

/// A small tensor as an option's value: `FILE:/dataset` or a text file, where such a file exists,
/// else numbers: '1 0; 0 1'. `name` is the option. UsageError for typed words that are no numbers,
/// DataError for what a file holds.
Tensor<double> tensor_argument(const std::string& value, const std::string& name,
                               const ReadLimits& limits = {});

}  // namespace attn
