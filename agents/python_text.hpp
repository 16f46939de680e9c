// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message.hpp>

#include <string>
#include <vector>

namespace superstep {

/// A value as Python displays it: the texts of the reference hold such displays, and models have
/// learned to read them.
[[nodiscard]] std::string python_text(const json::value& v);
/// A call: its name, arguments and id.
[[nodiscard]] std::string python_text(const tool_call& call);

} // namespace superstep
