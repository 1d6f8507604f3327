#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What there is to say of a mistake that a check can name. The table is data/mistakes, built in:
/// every diagnosis that is printed anywhere has a line there, and a name outside of it is none.
struct Explanation {
  std::string_view name;
  std::string_view topic;  // the file it stands in: sight, scores, softmax, layer ...
  std::string_view what;   // what the mistake is, in one line
  std::string_view cause;  // how it usually comes about, in one line
  std::string_view text;   // more lines: a small picture, how it shows, the cure
};

/// All of them, by topic.
std::span<const Explanation> explanations();

/// The one of that name; null where there is none.
const Explanation* find_explanation(std::string_view name);

/// Their names, by topic.
std::vector<std::string> mistake_names();

/// The known name that a mistyped one is nearest to; empty where none is near.
std::string nearest_mistake(std::string_view typed);

/// The entries of one file: each begins with a line "= NAME", the line of what, that of cause, an
/// empty one, and goes on to the next such line. Throws ShapeError for anything else.
std::vector<Explanation> parse_explanations(std::string_view topic, std::string_view text);

}  // namespace attn
