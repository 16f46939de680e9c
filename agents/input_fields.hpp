// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/yaml_fields.hpp"

#include <superstep/agents/agent_file.hpp>

namespace superstep::detail {

/// Reads the key `input`: the template that makes messages of the columns of a batch row.
void read_input(fields& root, agent_spec& into);

} // namespace superstep::detail
