// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <string>

namespace superstep::detail {

/// Applies one `key.path=value` to a document. Missing mappings on the path are created; numbers
/// are indexes of existing list items. Adds an error if that is not possible.
void apply_override(YAML::Node& document, const std::string& option, fault_list& faults);

/// Returns a path of an agent file, resolved against the folder of the file if it is relative.
[[nodiscard]] std::string in_folder(const std::string& folder, const std::string& path);

} // namespace superstep::detail
