// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// The value as Python prints it: {'name': 'f', 'args': {'x': True}}. Texts of the reference hold
/// calls, arguments and messages so, and models have learned to read them. @{
void append_python_literal(std::string& out, const json::value&);
[[nodiscard]] std::string python_literal(const json::value&);
/// @}
/// A text alone: 'it', or "it's".
[[nodiscard]] std::string python_text(std::string_view text);

} // namespace superstep
