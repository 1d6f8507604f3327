#pragma once

#include <vector>

namespace attn::cli {

/// How the numbers along an axis run.
enum class AxisKind { kLinear, kLog10, kLog2 };

/// Round numbers from `low` to `high`, at most `most` of them (at least 2): steps of 1, 2 or 5
/// times a power of ten, or whole powers of ten or two on a logarithmic axis. Where not two of
/// those lie between the ends, the ends themselves. A linear axis may begin or end a fiftieth
/// outside of its data.
std::vector<double> axis_ticks(double low, double high, int most, AxisKind kind);

}  // namespace attn::cli
