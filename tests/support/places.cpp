#include "support/places.h"

namespace attn::testing {

std::filesystem::path source_folder() {
  return ATTNTOOLS_SOURCE_DIR;
}

std::filesystem::path program_folder() {
  return ATTNTOOLS_BIN_DIR;
}

}  // namespace attn::testing
