#include "tensor-diff/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/tensor_argument.h"
#include "io/tensor_relation.h"

namespace attn {
namespace {

// One side: a file, and in it a dataset, a group, or all.
struct Side {
  TensorFile file;
  std::string dataset;  // of one tensor
  std::string group;    // "" is all, else "/group"
};

Side open_side(const std::string& argument, const ReadLimits& limits) {
  if (argument == "-") return {TensorFile::open("-", limits), "", ""};
  const auto place = tensor_place(argument);
  Side side{TensorFile::open(place ? place->file : argument, limits), "", ""};
  if (!place || place->dataset.empty() || place->dataset == "/") return side;
  if (!side.file.has_dataset(place->dataset) && side.file.has_group(place->dataset)) {
    side.group = place->dataset;
    while (side.group.ends_with('/')) side.group.pop_back();
  } else {
    side.dataset = side.file.info(place->dataset).path;
  }
  return side;
}

std::vector<std::string> names_of(const Side& side) {
  std::vector<std::string> names;
  const std::string prefix = side.group + "/";
  for (const std::string& path : side.file.datasets_in_order()) {
    if (path.starts_with(prefix)) names.push_back(path.substr(side.group.size()));
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> read_map(const std::string& path,
                                                          const ReadLimits& limits) {
  const ByteSource source = ByteSource::open(path, limits.max_bytes);
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto named = [](std::string_view name) {
    return fmt::format("{}{}", name.starts_with('/') ? "" : "/", name);
  };
  for (std::string_view line : split(as_text(source.bytes()), '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = split(line, '\t');
    if (cells.size() != 2 || cells[0].empty() || cells[1].empty()) {
      throw DataError(fmt::format("{}: want a name, a tab and a name on each line, got '{}'",
                                  source.name(), escaped(line)));
    }
    pairs.emplace_back(named(cells[0]), named(cells[1]));
  }
  if (pairs.empty()) throw DataError(source.name() + ": no names");
  return pairs;
}

// Larger tensors are compared a block at a time, but not related and not drawn.
constexpr Index kMostWhole = Index{1} << 24;

// Relations need both tensors whole.
void add_relations(const Side& a, const Side& b, const DiffOptions& o, ComparedPair& pair) {
  const Index size = pair.info_a->size;
  if (size != pair.info_b->size || size > kMostWhole || o.settings.equal_before) return;
  pair.relations = tensor_relations(a.file.read<double>(pair.a), pair.info_a->type,
                                    b.file.read<double>(pair.b), pair.info_b->type);
}

ComparedPair compare_pair(const Side& a, const Side& b, std::string path_a, std::string path_b,
                          const DiffOptions& o, bool draw) {
  ComparedPair pair;
  pair.a = std::move(path_a);
  pair.b = std::move(path_b);
  if (a.file.has_dataset(pair.a)) pair.info_a = a.file.info(pair.a);
  if (b.file.has_dataset(pair.b)) pair.info_b = b.file.info(pair.b);
  if (!pair.info_a || !pair.info_b) return pair;
  pair.other_type = pair.info_a->type != pair.info_b->type && !o.settings.any_type;
  if (pair.info_a->shape == pair.info_b->shape) {
    draw = draw && pair.info_a->size <= kMostWhole;
    DifferenceMap map;
    pair.difference =
        tensor_difference(a.file, pair.a, b.file, pair.b, o.settings, draw ? &map : nullptr);
    if (draw && pair.difference->differing > 0) pair.map = std::move(map);
  }
  const bool numbers = !pair.difference || pair.difference->differing > 0;
  if (numbers) add_relations(a, b, o, pair);
  return pair;
}

}  // namespace

bool ComparedPair::differs() const {
  return !difference || difference->differing > 0 || other_type;
}

std::vector<ComparedPair> compare_files(const DiffOptions& o) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  const Side a = open_side(o.first, limits);
  const Side b = open_side(o.second, limits);
  std::vector<ComparedPair> pairs;
  bool drawn = !o.show;
  const auto compare = [&](std::string in_a, std::string in_b) {
    pairs.push_back(compare_pair(a, b, std::move(in_a), std::move(in_b), o, !drawn));
    drawn = drawn || pairs.back().map;
  };
  if (!o.map.empty()) {
    if (!a.dataset.empty() || !b.dataset.empty()) {
      throw UsageError("--map goes with files or groups, not with one dataset");
    }
    for (const auto& [in_a, in_b] : read_map(o.map, limits)) {
      compare(a.group + in_a, b.group + in_b);
    }
    return pairs;
  }
  const std::vector<std::string> of_a = a.dataset.empty() ? names_of(a) : std::vector{a.dataset};
  const std::vector<std::string> of_b = b.dataset.empty() ? names_of(b) : std::vector{b.dataset};
  // One tensor with one, whatever they are called; one with a file: its own name there.
  const bool one_a = of_a.size() == 1;
  const bool one_b = of_b.size() == 1;
  if (one_a && one_b) {
    compare(a.dataset.empty() ? a.group + of_a[0] : a.dataset,
            b.dataset.empty() ? b.group + of_b[0] : b.dataset);
    return pairs;
  }
  if (!a.dataset.empty() || !b.dataset.empty()) {
    const std::string name = !a.dataset.empty() ? a.dataset : b.dataset;
    compare(name, name);
    return pairs;
  }
  if (of_a.empty() && of_b.empty()) {
    throw DataError(fmt::format("{} and {}: neither holds a tensor", a.file.name(), b.file.name()));
  }
  const std::set<std::string> known(of_a.begin(), of_a.end());
  for (const std::string& name : of_a) {
    compare(a.group + name, b.group + name);
  }
  for (const std::string& name : of_b) {
    if (known.count(name) == 0) compare(a.group + name, b.group + name);
  }
  return pairs;
}

const ComparedPair* first_deviation(const std::vector<ComparedPair>& pairs) {
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [](const ComparedPair& pair) { return pair.differs(); });
  return found == pairs.end() ? nullptr : &*found;
}

}  // namespace attn
