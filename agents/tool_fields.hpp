// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <optional>
#include <string>

namespace superstep::detail {

/// One item of `tools`: a name (`calculator`) or a name and its options (`{command: {…}}`).
/// Nothing when it cannot be told which tool is meant; faults are added in any case.
[[nodiscard]] std::optional<tool_spec> read_tool(const YAML::Node& item, const std::string& key,
                                                 const std::string& folder, fault_list& faults);

} // namespace superstep::detail
