#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "check/posenc/posenc_case.h"

namespace attn {

/// The root attributes of a case. One that is missing is replaced by its default, and noted in the
/// case as assumed. All complaints are DataErrors that name the file and the attribute.
class PosencAttributes {
 public:
  PosencAttributes(const Hdf5Reader& file, PosencCase& noted) : file_(file), noted_(noted) {}

  /// A whole number of 1 or more.
  std::optional<Index> given_count(const std::string& name) const;
  Index count(const std::string& name, Index fallback);
  /// A finite number above 0.
  std::optional<double> given_positive(const std::string& name) const;
  double positive(const std::string& name, double fallback);
  bool flag(const std::string& name, bool fallback);
  /// Which of the words it is; the first where it is missing.
  std::size_t word(const std::string& name, std::initializer_list<const char*> words);

  /// Notes that something was not said.
  void assume(const std::string& name, const std::string& value);

 private:
  const Hdf5Reader& file_;
  PosencCase& noted_;
};

/// theta, scaling and all that belongs to it, for a case that has its parts and widths.
void read_rope_scaling(const Hdf5Reader& file, PosencAttributes& attributes, PosencCase& c);

}  // namespace attn
