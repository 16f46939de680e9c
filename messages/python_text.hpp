// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Formats a value as Python's repr() does: `{'name': 'f', 'args': {'x': True}}`. langchain-core
/// and LangGraph put tool calls, arguments and messages into prompts in this format. @{
void append_python_literal(std::string& out, const json::value&);
[[nodiscard]] std::string python_literal(const json::value&);
/// @}
/// Formats a text as a Python string literal: `'it'`, or `"it's"` if it contains a single quote and
/// no double quote.
[[nodiscard]] std::string python_text(std::string_view text);

} // namespace superstep
