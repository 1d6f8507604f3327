#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What went wrong, in one line, lower case and without a full stop: what was wanted and what
/// came. At most two lines of hint may follow. The library throws; only tool_main catches.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::vector<std::string> hints = {})
      : std::runtime_error(what), hints_(std::move(hints)) {}

  const std::vector<std::string>& hints() const { return hints_; }

 private:
  std::vector<std::string> hints_;
};

/// Whoever typed the command must act: an option or a combination of options (exit 2).
class UsageError : public Error {
  using Error::Error;
};

/// Whoever made the file must act: missing, damaged, wrong shape; names file and object (exit 3).
class DataError : public Error {
  using Error::Error;
};

/// Whoever wrote the call must act: a view of the wrong shape reached a function (exit 4).
class ShapeError : public Error {
  using Error::Error;
};

/// Throws ShapeError(what) unless the condition holds. For the border of a library function.
void require_shape(bool condition, std::string_view what);

}  // namespace attn
