#include "bench/kv_types.h"

namespace attn {

std::string types_name(const KvTypes& types) {
  return types.keys == types.values ? kv_type_name(types.keys) : both_types_name(types);
}

std::string both_types_name(const KvTypes& types) {
  return kv_type_name(types.keys) + "/" + kv_type_name(types.values);
}

}  // namespace attn
