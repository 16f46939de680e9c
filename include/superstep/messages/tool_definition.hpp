// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// What a model is told about a tool. `parameters` is a JSON Schema of type object.
struct tool_definition {
  std::string name;
  std::string description;
  json::object parameters;

  friend bool operator==(const tool_definition&, const tool_definition&) = default;
};

/// The tools of an agent, shared by every request it makes. Never null; may be empty.
using tool_definitions = std::shared_ptr<const std::vector<tool_definition>>;

} // namespace superstep
