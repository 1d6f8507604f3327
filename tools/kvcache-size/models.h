#pragma once

#include <vector>

#include "cli/report.h"
#include "kvcache-size/options.h"
#include "sizing/cache_spec.h"

namespace attn {

/// Throws UsageError where no or two ways of naming a model are given. Reads nothing.
void check_models(const SizeOptions& options);

/// The models asked about, by numbers, names and files, in the order typed. Throws what reading a
/// file throws.
std::vector<CacheSpec> asked_models(const SizeOptions& options);

/// --list-models; returns how many there are.
Index list_models(cli::Format format, cli::Report& report);

}  // namespace attn
