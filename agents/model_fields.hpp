// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <superstep/agents/agent_file.hpp>

#include <string>

namespace superstep::detail {

/// Reads the key `model` of an agent file. A relative path in it is resolved against `folder`.
void read_model(fields& root, const std::string& folder, agent_spec& into);

/// Returns the file with the model's turns or rules; empty for a model without such a file.
[[nodiscard]] std::string path_of_model(const model_spec& model);

} // namespace superstep::detail
