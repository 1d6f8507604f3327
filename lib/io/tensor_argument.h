#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tensor.h"
#include "io/read_budget.h"

namespace attn {

/// Numbers as text: rows end at `;` or a line end, numbers stand apart by blanks, tabs or commas;
/// lines that begin with # are left out. One row gives one axis of numbers, more give (rows,
/// columns); nan and inf are numbers. `name` is what messages call the text. Throws DataError for
/// what is no number, for rows of unlike length, and for nothing at all.
Tensor<double> parse_numbers(std::string_view text, const std::string& name);

/// A small tensor as an option's value: `FILE:/dataset` of HDF5 or .npz, a .npy or text file, where
/// such a file exists, else numbers: '1 0; 0 1'. Of a file with one dataset the name may be left
/// out. `name` is the option. UsageError for typed words that are no numbers, DataError for what a
/// file holds and for a file that is not there.
Tensor<double> tensor_argument(const std::string& value, const std::string& name,
                               const ReadLimits& limits = {});

/// The file and the dataset in it that such a value names; nothing where it names no file. The
/// dataset is empty where none is named.
struct TensorPlace {
  std::string file;
  std::string dataset;
};
std::optional<TensorPlace> tensor_place(const std::string& value);

/// The file that a value means by its form, FILE:/dataset or a name such as out.npy, where there is
/// no such file; else nothing.
std::optional<std::string> missing_file(const std::string& value);

}  // namespace attn
