// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <optional>
#include <string>

namespace superstep::detail {

/// Reads one item of `tools`: a name (`calculator`) or a name with options (`{command: {…}}`).
/// Returns nullopt if the tool is unknown. Adds an error for everything that is not valid.
[[nodiscard]] std::optional<tool_spec> read_tool(const YAML::Node& item, const std::string& key,
                                                 const std::string& folder, fault_list& faults);

} // namespace superstep::detail
