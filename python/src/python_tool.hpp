// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"

#include <superstep/models/chat_model.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep::python {

/// Makes a tool whose function is Python code, called with the arguments as keywords. Its result is
/// a str, or is converted to JSON, or to a str if it has no JSON form. The caller holds the GIL.
/// @param spec has the attributes name, description and parameters (JSON Schema)
[[nodiscard]] tool_ptr make_python_tool(nb::handle spec, python_function f);

/// Makes a model whose answers are computed by a Python function of two lists, messages and tools.
/// It returns a str or a message. The caller holds the GIL.
/// @param name identifies the model in fingerprints
[[nodiscard]] chat_model_ptr make_python_model(python_function f, std::string name);

} // namespace superstep::python
