#pragma once

#include <vector>

#include "bench/kv_types.h"

namespace attn {

/// Largest difference allowed, as a share of the largest output: cached and uncached passes sum in
/// float in different orders.
inline constexpr double kOutputBound = 1e-5;

/// The same between two ways that store numbers as these types, neither knowing the other's sums.
/// A number that lies between two that the type has goes to one or the other as its last bit falls,
/// and so may differ by a whole step, the coarser type's, as a share of the largest number: 2^-10
/// of f16, 2^-7 of bf16, 1/127 of q8_0, 1/8 of q4_0. The outputs are given as much.
double output_bound(const KvTypes& types);

/// Whether ways that store numbers as the same types agree among themselves, and what storing so
/// does to the outputs.
struct StorageAgreement {
  KvTypes types;
  bool outputs = true;        // every difference is within its bound
  bool compared = false;      // were there two ways to compare?
  double max_difference = 0;  // of any output
  double bound = 0;           // of the comparison that came nearest to its bound, or passed it
  /// Largest difference from exactly stored numbers' outputs, as a share of the largest output.
  double storage_error = 0;

  /// One more comparison and its bound.
  void add(double difference, double limit);
};

/// Whether the ways of processing agree; the numbers are of ways that store exactly.
struct Agreement {
  bool counts = true;         // every counter gave what its formula says
  bool outputs = true;        // every difference is within its bound, however numbers are stored
  bool compared = false;      // were there two ways to compare?
  double max_difference = 0;  // of any output
  double bound = 0;           // of the comparison that came nearest to its bound, or passed it
  std::vector<StorageAgreement> stored = {};  // a pair of types each

  /// One more comparison, of two ways that store as `types` says, and its bound.
  void add(const KvTypes& types, double difference, double limit);
  /// Were there two ways of any types to compare?
  bool any_compared() const;
  /// What storing so was seen to do.
  void add_storage_error(const KvTypes& types, double error);

 private:
  StorageAgreement& of(const KvTypes& types);
};

}  // namespace attn
