// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>

namespace superstep {

/// The value as Python prints it: {'name': 'f', 'args': {'x': True}}. Texts that hold a list of
/// calls are written so.
void append_python_literal(std::string& out, const json::value&);

} // namespace superstep
