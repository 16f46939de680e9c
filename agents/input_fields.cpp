// SPDX-License-Identifier: Apache-2.0
// Reads the key `input` of agent files; see agent_file.cpp.
#include "agents/input_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::detail {
namespace {

/// Returns the value at a dotted path below `root`, or the nearest value above it.
YAML::Node value_below(const YAML::Node& root, std::string_view path) {
  auto at = std::vector<YAML::Node>{root};
  while (!path.empty()) {
    const auto dot = std::min(path.find('.'), path.size());
    const auto key = std::string{path.substr(0, dot)};
    path.remove_prefix(std::min(dot + 1, path.size()));
    const auto& above = at.back();
    auto below = YAML::Node{YAML::NodeType::Undefined};
    if (above.IsSequence() && key.find_first_not_of("0123456789") == std::string::npos)
      below.reset(above[std::stoul(key)]);
    else if (above.IsMap())
      below.reset(above[key]);
    if (!below.IsDefined())
      break;
    at.push_back(below);
  }
  return at.back();
}

std::size_t line_below(const YAML::Node& root, std::string_view path) {
  return line_of(value_below(root, path));
}

} // namespace

void read_input(fields& root, agent_spec& into) {
  const auto node = root.take("input");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.input_line = line_of(node);
  auto at = fields{node, "input", root.faults()};
  auto messages = json::value{};
  at.any("messages", messages);
  const auto is_given = node.IsMap() && node["messages"] && !node["messages"].IsNull();
  if (node.IsMap() && !is_given)
    at.missing("messages");
  at.done();
  if (messages.is_null())
    return;
  const auto* list = messages.if_array();
  if (list == nullptr)
    return at.wrong("messages", "must be a list, e.g. [{role: user, content: \"{{question}}\"}]");
  constexpr auto path = std::string_view{"input.messages"};
  auto parsed = message_template::parse(*list, path);
  if (!parsed) {
    // The error text begins with the place, which agent_fault has as a member of its own.
    const auto& text = parsed.error().text;
    const auto colon = text.find(": ");
    const auto key = text.substr(0, colon);
    return root.faults().add(line_below(root.node(), key), key,
                             text.substr(colon == std::string::npos ? 0 : colon + 2));
  }
  parsed->move_places([&](const std::string& key) {
    return root.faults().is_overridden(key)
               ? "--set: " + key
               : fmt::format("{}:{}: {}", into.file, line_below(root.node(), key), key);
  });
  into.input = std::move(*parsed);
}

} // namespace superstep::detail
