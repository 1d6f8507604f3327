#include "io/contents_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// The coordinates of an axis, which belong to another dataset.
bool is_scale(const ObjectInfo& info) {
  const std::pair<std::string, std::string> mark = {"CLASS", "DIMENSION_SCALE"};
  return std::find(info.attributes.begin(), info.attributes.end(), mark) != info.attributes.end();
}

}  // namespace

std::string datasets_text(const FileContents& contents) {
  constexpr Index kMostNamed = 5;
  std::string text;
  Index count = 0;
  for (const ObjectInfo& info : contents.objects) {
    if (info.kind != "dataset" || ++count > kMostNamed) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", escaped(info.path, 60),
                        info.shape ? shape_text(*info.shape) + " " : "", escaped(info.type));
  }
  if (count > kMostNamed) text += fmt::format(", and {} more", count - kMostNamed);
  return text;
}

std::string only_dataset_of(const FileContents& held, const std::string& input,
                            const std::string& advice) {
  std::string only;
  std::string unreadable;
  std::string damage;
  Index count = 0;
  Index others = 0;
  for (const ObjectInfo& info : held.objects) {
    if (info.kind == "damaged") damage = info.type;
    if (info.kind != "dataset" || is_scale(info)) continue;
    (info.readable ? only : unreadable) = info.path;
    ++(info.readable ? count : others);
  }
  if (count == 1 && held.complete) return only;
  if (count == 0 && !damage.empty()) throw DataError(input + ": " + damage);
  if (count == 0 && others == 1) return unreadable;  // whoever reads it is told what is wrong
  if (count == 0) {
    throw DataError(fmt::format("{}: holds no dataset of numbers{}", input,
                                others > 0 ? "; it has " + datasets_text(held) : ""));
  }
  std::vector<std::string> hints;
  if (!advice.empty()) hints.push_back(advice);
  throw DataError(fmt::format("{}: holds several datasets: {}", input, datasets_text(held)),
                  std::move(hints));
}

void fail_missing_dataset(const std::string& path, const std::string& held,
                          const std::string& input) {
  throw DataError(
      fmt::format("{}: no dataset {}{}", input, escaped(path),
                  held.empty() ? "" : "; it has " + held),
      {input == "stdin" ? "piped into 'tensor-show --list -', it shows all it holds"
                        : fmt::format("'tensor-show --list {}' shows all it holds", input)});
}

}  // namespace attn
