#include "check/laws/law_book.h"

namespace attn {

void LawBook::add(const AttentionCase& recorded, const AttentionAnswer& truth,
                  const std::vector<Index>& origin, int threads) {
  rows_sum_.add(rows_sum_to_one(recorded, truth), origin);
  in_range_.add(weights_in_range(recorded), origin);
  future_.add(future_weights_zero(recorded), origin);
  hidden_.add(hidden_weights_zero(recorded), origin);
  within_.add(out_within_values(recorded, 0), origin);
  one_key_.add(one_key_gives_its_value(recorded), origin);
  first_row_.add(first_causal_row(recorded), origin);
  equal_keys_.add(equal_keys_give_the_mean(recorded, 0), origin);
  constant_.add(constant_values_stay(recorded, 0), origin);
  permutation_.add(recorded, origin, threads);
  probe_.add(causal_probe(recorded, {}), origin);
  if (recorded.out) size_of_out_.add(*recorded.out);
}

std::vector<Check> LawBook::checks(const AttentionCase& outline, const Limits& of_out) const {
  std::vector<Check> all;
  for (const LawSum* law : {&rows_sum_, &in_range_, &future_, &hidden_}) {
    all.push_back(law->result());
  }
  const double limit = of_out.max_error;
  all.push_back(within_.result(limit));
  all.push_back(one_key_.result());
  // Worth a line only where they apply.
  for (const Check& check :
       {first_row_.result(), equal_keys_.result(limit), constant_.result(limit)}) {
    if (check.outcome != Outcome::kNotChecked) all.push_back(check);
  }
  const DType dtype = outline.problem.rules.dtype;
  all.push_back(permutation_.result(outline.stored.out_perm, dtype, of_out));
  const Limits twice = {2 * of_out.max_error, 2 * of_out.mean_error};
  const Limits allowed = kept_in(outline.stored.probe_out, dtype, twice, size_of_out_.size());
  all.push_back(probe_.result(allowed.max_error));
  return all;
}

}  // namespace attn
