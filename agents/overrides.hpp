// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <string>

namespace superstep::detail {

/// Applies one `key.path=value` to a document: mappings on the way are made when they are missing,
/// numbers index lists that are long enough. Adds a fault when that is not possible.
void apply_override(YAML::Node& document, const std::string& option, fault_list& faults);

/// A path of the agent file, taken from the folder of the file when it is relative.
[[nodiscard]] std::string in_folder(const std::string& folder, const std::string& path);

} // namespace superstep::detail
