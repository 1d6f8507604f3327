// Mistakes about the matrices and biases of a layer: read, cut or taken wrongly.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "check/layer/layer_supposition_list.h"

namespace attn {

namespace {

using Problem = LayerProblem;
using Member = Projection Problem::*;

struct Named {
  const char* name;
  Member member;
};
constexpr std::array<Named, 3> kInputs = {Named{"q_proj", &Problem::q_proj},
                                          Named{"k_proj", &Problem::k_proj},
                                          Named{"v_proj", &Problem::v_proj}};

// The memory of (out, in) taken for (in, out): of a square matrix, its transpose.
void turn(Projection& projection) {
  const Tensor<double> was = projection.weight;
  const Index out = projection.out();
  const Index in = projection.in();
  for (Index o = 0; o < out; ++o) {
    for (Index c = 0; c < in; ++c) projection.weight.data()[o * in + c] = was.data()[c * out + o];
  }
}

// Calls change(problem's projections) for all, for the three that make q, k and v, for each alone.
void suppose_of_projections(LayerList& list, const char* name,
                            const std::function<bool(const Projection&)>& possible,
                            const std::function<void(Projection&)>& change) {
  const Problem& given = list.problem();
  const bool out = given.out_proj && possible(*given.out_proj);
  std::vector<Named> inputs;
  for (const Named& one : kInputs) {
    if (possible(given.*one.member)) inputs.push_back(one);
  }
  const auto change_inputs = [inputs, change](Problem& p) {
    for (const Named& one : inputs) change(p.*one.member);
  };
  if (out && !inputs.empty()) {
    list.seen(name, "of all projections", [change_inputs, change](Problem& p) {
      change_inputs(p);
      change(*p.out_proj);
    });
  }
  if (inputs.size() > 1) list.seen(name, "of q_proj, k_proj and v_proj", change_inputs);
  for (const Named& one : inputs) {
    list.seen(name, fmt::format("of {}", one.name),
              [member = one.member, change](Problem& p) { change(p.*member); });
  }
  if (inputs.size() == 3) {
    list.seen(name, "of k_proj and v_proj", [change](Problem& p) {
      change(p.k_proj);
      change(p.v_proj);
    });
    list.seen(name, "of q_proj and k_proj", [change](Problem& p) {
      change(p.q_proj);
      change(p.k_proj);
    });
  }
  if (out) list.seen(name, "of out_proj", [change](Problem& p) { change(*p.out_proj); });
}

// q, k and v projections one under the other.
Projection fused(const Problem& problem) {
  Projection all;
  const Index rows = problem.q_proj.out() + problem.k_proj.out() + problem.v_proj.out();
  all.weight = Tensor<double>({rows, problem.q_proj.in()});
  auto to = all.weight.values.begin();
  const bool biased =
      !problem.q_proj.bias.empty() && !problem.k_proj.bias.empty() && !problem.v_proj.bias.empty();
  for (const Named& one : kInputs) {
    const Projection& part = problem.*one.member;
    to = std::copy(part.weight.values.begin(), part.weight.values.end(), to);
    if (biased) all.bias.insert(all.bias.end(), part.bias.begin(), part.bias.end());
  }
  return all;
}

// Row r of the three projections, one after the other, becomes row from(r) of the fused matrix.
void take_rows(Problem& problem, const std::function<Index(Index)>& from) {
  const Projection all = fused(problem);
  const Index in = all.in();
  Index row = 0;
  for (const Named& one : kInputs) {
    Projection& part = problem.*one.member;
    for (Index o = 0; o < part.out(); ++o, ++row) {
      const Index source = from(row);
      std::copy_n(all.weight.data() + source * in, in, part.weight.data() + o * in);
      if (!all.bias.empty()) {
        part.bias[static_cast<std::size_t>(o)] = all.bias[static_cast<std::size_t>(source)];
      }
    }
  }
}

void suppose_orders(LayerList& list) {
  const Problem& given = list.problem();
  const std::array<Index, 3> sizes = {given.q_proj.out(), given.k_proj.out(), given.v_proj.out()};
  const bool one_source = !given.context && given.q_proj.in() == given.k_proj.in();
  if (sizes[1] == sizes[2] && given.k_proj.in() == given.v_proj.in()) {
    list.seen("k-v-swapped", "", [](Problem& p) { std::swap(p.k_proj, p.v_proj); });
  }
  if (!one_source) return;
  constexpr std::array<std::array<std::size_t, 3>, 5> kOrders = {
      {{1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}}};
  for (const auto& order : kOrders) {
    // Where each of q, k and v begins if the matrix is cut in this order.
    std::array<Index, 3> begins{};
    Index begin = 0;
    for (const std::size_t part : order) {
      begins[part] = begin;
      begin += sizes[part];
    }
    const bool swap = order == kOrders[0] && sizes[0] == sizes[1];
    if (order == kOrders[4] && sizes[1] == sizes[2]) continue;  // named above
    const char* names = "qkv";
    list.seen(
        swap ? "q-k-swapped" : "fused-order",
        swap ? ""
             : fmt::format("cut as {} {} {}", names[order[0]], names[order[1]], names[order[2]]),
        [begins, sizes](Problem& p) {
          take_rows(p, [&](Index row) {
            std::size_t part = 0;
            while (row >= sizes[part]) row -= sizes[part++];
            return begins[part] + row;
          });
        });
  }
}

// The fused matrix by groups of heads: the group's queries, then its key and its value.
void suppose_interleaving(LayerList& list) {
  const Problem& given = list.problem();
  const bool one_source = !given.context && given.q_proj.in() == given.k_proj.in();
  if (!one_source || given.value_dim() != given.head_dim()) return;
  const Index dim = given.head_dim();
  const Index group = given.heads / given.kv_heads;
  const Index queries = given.heads * dim;
  const Index keys = given.kv_heads * dim;
  // The place, head by head, of a row of the three blocks.
  const auto by_heads = [=](Index row) {
    if (row < queries)
      return (row / dim / group * (group + 2) + row / dim % group) * dim + row % dim;
    const bool value = row >= queries + keys;
    const Index at = row - queries - (value ? keys : 0);
    return (at / dim * (group + 2) + group + (value ? 1 : 0)) * dim + at % dim;
  };
  // The same feature by feature: q, k and v of each.
  const auto by_features = [=](Index row) { return row % queries * 3 + row / queries; };
  const auto both_ways = [&](const std::function<Index(Index)>& place, const char* detail,
                             const char* reverse) {
    const Index rows = queries + 2 * keys;
    list.seen("fused-interleaved", detail, [place](Problem& p) { take_rows(p, place); });
    list.seen("fused-interleaved", reverse, [place, rows](Problem& p) {
      std::vector<Index> back(static_cast<std::size_t>(rows));
      for (Index row = 0; row < rows; ++row) back[static_cast<std::size_t>(place(row))] = row;
      take_rows(p, [&](Index row) { return back[static_cast<std::size_t>(row)]; });
    });
  };
  if (given.kv_heads > 1) {
    both_ways(by_heads, "blocks taken for heads", "heads taken for blocks");
  }
  if (group == 1) both_ways(by_features, "blocks taken for features", "features taken for blocks");
}

void suppose_reuse(LayerList& list) {
  const Problem& given = list.problem();
  for (const Named& to : kInputs) {
    for (const Named& from : kInputs) {
      if (to.member == from.member) continue;
      if ((given.*to.member).weight.shape != (given.*from.member).weight.shape) continue;
      list.seen("weights-reused", fmt::format("{} for {}", from.name, to.name),
                [to, from](Problem& p) { p.*to.member = p.*from.member; });
    }
  }
}

}  // namespace

void suppose_projections(LayerList& list) {
  suppose_of_projections(
      list, "weights-transposed", [](const Projection&) { return true; }, turn);
  suppose_of_projections(
      list, "bias-missing", [](const Projection& one) { return !one.bias.empty(); },
      [](Projection& one) { one.bias.clear(); });
  suppose_of_projections(
      list, "bias-twice", [](const Projection& one) { return !one.bias.empty(); },
      [](Projection& one) {
        for (double& value : one.bias) value *= 2;
      });
  suppose_orders(list);
  suppose_interleaving(list);
  suppose_reuse(list);
}

}  // namespace attn
