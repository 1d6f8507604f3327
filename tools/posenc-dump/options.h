#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/option_table.h"
#include "cli/session.h"
#include "core/dtype.h"
#include "ops/positions.h"
#include "ops/rope_scaling.h"

namespace attn {

enum class PositionKind { kSinusoidal, kLearned, kRope, kAlibi, kT5 };
enum class OddDim { kRefuse, kCeil };

/// What posenc-dump's command line says.
struct PosencOptions {
  PositionKind kind = PositionKind::kSinusoidal;
  std::optional<Index> length;
  std::string positions;
  Index offset = 0;
  std::optional<Index> dim;
  double base = 10000;
  SinusoidalForm form;
  OddDim odd = OddDim::kRefuse;

  RopePairs rope_style = RopePairs::kHalves;
  std::optional<Index> rotary_dim;
  std::string config;
  std::string layer_type;
  RopeScaling scaling;
  Index seq_len = 0;

  Index heads = 8;
  std::optional<Index> keys;
  bool causal = false;
  Index num_buckets = 32;
  Index max_distance = 128;

  std::string input;
  std::string dataset = "/parameters/positions.weight";
  std::string row_offset = "0";
  Index padding_idx = 1;
  std::string tokens;
  Index max_bytes = cli::kDefaultMaxBytes;

  std::string check;
  std::string apply;
  std::string key_positions;
  std::optional<Index> key_offset;
  std::string explain;

  bool similarity = false;
  std::string output;
  DType dtype = DType::kF32;
  cli::Format format = cli::Format::kText;
  std::string table;
  bool long_form = false;
  bool show = false;
};

/// Declares all options, and the rules about which go together.
void declare(cli::OptionTable& table, PosencOptions& options);

/// "sinusoidal", "learned", "rope", "alibi", "t5".
std::string_view position_kind_name(PositionKind kind);

/// UsageError for an option that this kind has no use for, and for one that it needs.
void check_kind_options(const PosencOptions& options, const cli::Session& session);

}  // namespace attn
