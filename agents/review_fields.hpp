// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <superstep/agents/agent_file.hpp>

namespace superstep::detail {

/// Reads the key `review`: which tools are reviewed, and which answers the reviewer may give.
void read_reviews(fields& root, agent_spec& into);

} // namespace superstep::detail
