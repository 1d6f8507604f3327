#pragma once

#include <type_traits>

// A kernel file is compiled once for every vector target (Highway's foreach_target) and the best
// one this processor has is chosen at run time. Kernels are templates over float and double;
// these three macros name both, export both, and pick one in a template over T.

// NOLINTBEGIN(bugprone-macro-parentheses): names of templates.

/// In the target's namespace, after the template `name`.
#define ATTNTOOLS_BOTH_TYPES(name)            \
  constexpr auto& name##_float = name<float>; \
  constexpr auto& name##_double = name<double>

/// Once, in namespace attn.
#define ATTNTOOLS_EXPORT(name) \
  HWY_EXPORT(name##_float);    \
  HWY_EXPORT(name##_double)

/// The kernel for T on the chosen target.
#define ATTNTOOLS_DISPATCH(T, name) \
  ::attn::kernel_for<T>(&HWY_DYNAMIC_DISPATCH(name##_float), &HWY_DYNAMIC_DISPATCH(name##_double))

// NOLINTEND(bugprone-macro-parentheses)

namespace attn {

template <class T, class Float, class Double>
auto kernel_for(Float* for_float, Double* for_double) {
  if constexpr (std::is_same_v<T, float>) {
    return for_float;
  } else {
    static_assert(std::is_same_v<T, double>);
    return for_double;
  }
}

}  // namespace attn
