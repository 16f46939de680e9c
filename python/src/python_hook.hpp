// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"
#include "models.hpp"

#include <superstep/agents/agent_options.hpp>

#include <memory>
#include <vector>

namespace superstep::python {

/// Returns the state of an agent as a dict. Needs the GIL.
[[nodiscard]] nb::object state_object(const chat_state& state);

/// Reads the middleware of an agent: a list of tuples of a name, a dict of functions by the name of
/// their hook, and the names of the jumps. Needs the GIL.
/// @param functions receives the Python functions
/// @param models finds the models that wrappers name
[[nodiscard]] std::vector<middleware<chat_state>>
read_middleware(nb::handle from, std::vector<shared_object>& functions,
                const std::shared_ptr<model_table>& models);

} // namespace superstep::python
