#include "tensor-show/list.h"

#include <fmt/core.h>

#include <utility>

#include "cli/json.h"
#include "cli/table.h"
#include "core/text.h"

namespace attn {
namespace {

std::string list_text(const FileContents& contents) {
  std::string text;
  for (const ObjectInfo& info : contents.objects) {
    text += escaped(info.path, 4096);
    if (info.kind == "link") {
      text += " -> " + escaped(info.type);
    } else if (info.kind == "dataset") {
      text += fmt::format("  {}{}", info.shape ? shape_text(*info.shape) + " " : "",
                          escaped(info.type));
    } else {
      text += fmt::format("  {}{}{}", info.kind, info.type.empty() ? "" : ": ", escaped(info.type));
    }
    text += '\n';
    for (const auto& [name, value] : info.attributes) {
      text += fmt::format("    {} = {}\n", escaped(name), escaped(value, 240));
    }
  }
  if (!contents.complete) text += "... (more objects than are listed)\n";
  return text;
}

cli::Json list_json(const FileContents& contents) {
  cli::Json objects = cli::Json::array();
  for (const ObjectInfo& info : contents.objects) {
    cli::Json object = {{"path", info.path}, {"kind", info.kind}};
    if (info.shape) object["shape"] = *info.shape;
    if (!info.type.empty()) object[info.kind == "dataset" ? "dtype" : "what"] = info.type;
    cli::Json attributes = cli::Json::object();
    for (const auto& [name, value] : info.attributes) attributes[name] = value;
    object["attributes"] = std::move(attributes);
    objects.push_back(std::move(object));
  }
  return {{"objects", std::move(objects)}, {"complete", contents.complete}};
}

cli::Table list_table(const FileContents& contents) {
  using Align = cli::Table::Align;
  cli::Table table({{"path", Align::kLeft},
                    {"kind", Align::kLeft},
                    {"shape", Align::kLeft},
                    {"type", Align::kLeft}});
  for (const ObjectInfo& info : contents.objects) {
    table.add({escaped(info.path, 4096), info.kind, info.shape ? shape_text(*info.shape) : "",
               escaped(info.type)});
  }
  return table;
}

}  // namespace

std::string list_report(const FileContents& contents, cli::Format format) {
  switch (format) {
    case cli::Format::kJson:
      return cli::json_text(list_json(contents));
    case cli::Format::kTsv:
      return list_table(contents).tsv();
    case cli::Format::kCsv:
      return list_table(contents).csv();
    default:
      return list_text(contents);
  }
}

}  // namespace attn
