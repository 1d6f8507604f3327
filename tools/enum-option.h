#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/option_table.h"
#include "model/model_config.h"

namespace attn {

/// An option whose words are those that files have for an enumeration. Field is Enum or
/// std::optional<Enum>.
template <class Enum, class Field>
cli::Option& enum_option(cli::OptionTable& table, const std::string& name, Field& field,
                         const std::string& help) {
  std::vector<std::pair<std::string, Enum>> words;
  for (const std::string& word : enum_names<Enum>()) {
    words.emplace_back(word, *parse_enum<Enum>(word));
  }
  return table.choice(name, field, std::move(words), help);
}

}  // namespace attn
