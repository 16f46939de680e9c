// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace superstep::detail {

/// Applies one `key.path=value` to a document. Missing mappings on the path are created. A number
/// in the path is the index of an existing list item. Adds an error if the path cannot be set.
void apply_override(YAML::Node& document, const std::string& option, fault_list& faults);

/// Makes errors about keys that overrides changed refer to --set instead of a line of the file.
/// @param first index of the first error to change
void refer_to_overrides(const agent_spec& spec, std::vector<agent_fault>& faults,
                        std::size_t first = 0);

/// Returns a path from an agent file. A relative path is resolved against `folder`, the folder of
/// the file.
[[nodiscard]] std::string in_folder(const std::string& folder, const std::string& path);

} // namespace superstep::detail
