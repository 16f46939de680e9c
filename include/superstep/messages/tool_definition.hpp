// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// The description of a tool that is sent to a model. `parameters` is a JSON Schema of type object.
struct tool_definition {
  std::string name;
  std::string description;
  json::object parameters;

  friend bool operator==(const tool_definition&, const tool_definition&) = default;
};

/// The tools of an agent, shared by all requests that it makes. Never null; may be empty.
using tool_definitions = std::shared_ptr<const std::vector<tool_definition>>;

} // namespace superstep
