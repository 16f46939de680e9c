// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

namespace superstep::react {

/// Returns the error handling for a tool node whose calls pass through interceptors. An exception
/// of a tool reaches the interceptors; if it leaves them, the tool node answers the call with the
/// usual text. Invalid arguments are answered without the interceptors, which cannot correct them.
[[nodiscard]] tool_errors errors_outside();

} // namespace superstep::react
