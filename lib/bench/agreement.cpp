#include "bench/agreement.h"

#include <algorithm>

#include "core/error.h"

namespace attn {
namespace {

// See output_bound().
double step_of(KvType type) {
  switch (type) {
    case KvType::kNative:
      return 0;
    case KvType::kF16:
      return 0x1p-10;
    case KvType::kBF16:
      return 0x1p-7;
    case KvType::kQ8_0:
      return 1.0 / 127;
    case KvType::kQ4_0:
      return 1.0 / 8;
  }
  throw ShapeError("cache: no such type");
}

// Is it nearer to its bound than the nearest so far?
bool is_nearer(double difference, double limit, double nearest, double nearest_limit) {
  return !(difference <= limit) || difference * nearest_limit > nearest * limit;
}

}  // namespace

double output_bound(const KvTypes& types) {
  return kOutputBound + std::max(step_of(types.keys), step_of(types.values));
}

void StorageAgreement::add(double difference, double limit) {
  const bool nearer = !compared || is_nearer(difference, limit, max_difference, bound);
  if (outputs && nearer) {
    max_difference = difference;
    bound = limit;
  }
  compared = true;
  if (!(difference <= limit)) outputs = false;
}

void Agreement::add(const KvTypes& types, double difference, double limit) {
  if (!types.exact()) {
    StorageAgreement& one = of(types);
    one.add(difference, limit);
    outputs = outputs && one.outputs;
    return;
  }
  StorageAgreement exact{types, max_difference <= bound, compared, max_difference, bound};
  exact.add(difference, limit);
  outputs = outputs && exact.outputs;
  compared = exact.compared;
  max_difference = exact.max_difference;
  bound = exact.bound;
}

bool Agreement::any_compared() const {
  return compared || std::any_of(stored.begin(), stored.end(),
                                 [](const StorageAgreement& one) { return one.compared; });
}

void Agreement::add_storage_error(const KvTypes& types, double error) {
  StorageAgreement& one = of(types);
  // What is no number is the worst there is.
  if (!(error <= one.storage_error)) one.storage_error = error;
}

StorageAgreement& Agreement::of(const KvTypes& types) {
  for (StorageAgreement& one : stored) {
    if (one.types == types) return one;
  }
  stored.push_back({types});
  return stored.back();
}

}  // namespace attn
