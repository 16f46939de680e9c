// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"
#include "models.hpp"

#include <superstep/agents/agent_options.hpp>

#include <memory>

namespace superstep::python {

/// Returns a wrapper of the calls of a model whose code is Python: a function of one argument, the
/// class ModelCall of the module, that returns an answer. Needs the GIL.
/// @param models finds the models that the function names
[[nodiscard]] model_wrap<chat_state> make_model_wrap(python_function f,
                                                     std::shared_ptr<model_table> models);

/// Returns a wrapper of tool calls whose code is Python: a function of one argument, the class
/// ToolCall of the module, that returns the answer. Needs the GIL.
[[nodiscard]] tool_interceptor make_tool_wrap(python_function f);

/// Adds the classes ModelCall, ToolCall and HandlerCall to the module.
void add_wraps(nb::module_& m);

} // namespace superstep::python
