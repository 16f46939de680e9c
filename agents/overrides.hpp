// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <string>

namespace superstep::detail {

/// Applies one `key.path=value` to a document. Missing mappings on the path are created. A number
/// in the path is the index of an existing list item. Adds an error if the path cannot be set.
void apply_override(YAML::Node& document, const std::string& option, fault_list& faults);

/// Returns a path from an agent file. A relative path is resolved against `folder`, the folder of
/// the file.
[[nodiscard]] std::string in_folder(const std::string& folder, const std::string& path);

} // namespace superstep::detail
