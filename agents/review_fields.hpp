// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <superstep/agents/agent_file.hpp>

namespace superstep::detail {

/// Reads the key `review`: which tools, and what a person may do with their calls.
void read_reviews(fields& root, agent_spec& into);

} // namespace superstep::detail
