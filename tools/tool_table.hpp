// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_gate.hpp"

#include <superstep/tools/tool_node.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace superstep {

/// The immutable parts of a tool node. Copies of the node and running calls share them.
struct tool_node::table {
  struct entry {
    tool_ptr run;
    argument_schema schema; ///< does not contain the injected arguments
    std::vector<injection> injections;
    std::shared_ptr<detail::call_gate> gate{}; ///< null if the tool has no limit
  };
  std::unordered_map<std::string_view, entry> by_name; // the keys refer to `definitions`
  tool_definitions definitions;
  std::string names;          // separated by commas, for the answer to a call of an unknown tool
  bool runs_directly = false; ///< whether detail::direct_call runs calls that need not wait
  tool_node_options options;
  limiter whole{0}; // limits all calls of the node together

  [[nodiscard]] const entry* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : &found->second;
  }
};

} // namespace superstep
