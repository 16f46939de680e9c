// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <optional>
#include <string>

namespace superstep::detail {

/// Reads one item of `tools`: a name (`calculator`), or a name with options (`{command: {…}}`).
/// Returns nullopt if the tool is unknown, and adds an error for each invalid part.
[[nodiscard]] std::optional<tool_spec> read_tool(const YAML::Node& item, const std::string& key,
                                                 const std::string& folder, fault_list& faults);

} // namespace superstep::detail
