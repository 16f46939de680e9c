// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <superstep/agents/agent_file.hpp>

namespace superstep::detail {

/// Reads the key `hooks`: `trim` and `summarise`, which shorten long conversations for the model.
void read_hooks(fields& root, agent_spec& into);

/// Reads the keys `response` (the JSON Schema of the structured response) and `response_method`.
void read_response(fields& root, agent_spec& into);
/// @param folder base of a relative path
void read_cache(fields& root, const std::string& folder, agent_spec& into);

/// Reads the key `store`: the path or the URL of the long-term memory. A relative path is resolved
/// against `folder`.
void read_store(fields& root, const std::string& folder, agent_spec& into);

} // namespace superstep::detail
