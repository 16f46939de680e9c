// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_gate.hpp"

#include <superstep/tools/tool_node.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace superstep {

/// The immutable parts of a tool node; shared by its copies and by running calls.
struct tool_node::table {
  struct entry {
    tool_ptr run;
    argument_schema schema; ///< without injected arguments
    std::vector<injection> injections;
    std::shared_ptr<detail::call_gate> gate{}; ///< null: the tool has no limit
  };
  std::unordered_map<std::string_view, entry> by_name; // views of the definitions below
  tool_definitions definitions;
  std::string names; // comma separated, for the answer to a call of an unknown tool
  bool has_injections = false;
  tool_node_options options;
  limiter whole{0}; // all calls of the node

  [[nodiscard]] const entry* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : &found->second;
  }
};

} // namespace superstep
