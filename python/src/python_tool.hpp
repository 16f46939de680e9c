// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"

#include <superstep/models/chat_model.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep::python {

/// Makes a tool whose function is Python code, called with the arguments as keywords. Its result is
/// a str, or is converted to JSON, or to a str if it has no JSON form. The caller holds the GIL.
/// @param spec has the attributes name, description, parameters (JSON Schema) and effects, which is
/// None, "idempotent" or "journaled"
[[nodiscard]] tool_ptr make_python_tool(nb::handle spec, python_function f);

/// Makes a model whose answers are computed by a Python function of two lists, messages and tools.
/// It returns a str or a message. The caller holds the GIL.
/// @param name identifies the model in fingerprints
[[nodiscard]] chat_model_ptr make_python_model(python_function f, std::string name);

/// Returns the function of a model that make_python_model() has made; empty for another model.
[[nodiscard]] shared_object function_of(const chat_model& model);

/// Reads the answer of a model: a str, or a message of type ai as a dict. The caller holds the GIL.
/// @throws nb::value_error or nb::type_error for anything else
[[nodiscard]] message read_answer(nb::handle from);

/// Returns the answer of a model as read_answer() accepts it: a message as a dict. The caller holds
/// the GIL.
[[nodiscard]] nb::object handler_object(const message& from);

/// Returns the definitions of tools as a list of dicts; empty if `tools` is null. The caller holds
/// the GIL.
[[nodiscard]] nb::list definitions_object(const tool_definitions& tools);

} // namespace superstep::python
