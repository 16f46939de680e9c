// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>

namespace superstep::graph_cases {

/// Returns the first difference between the recorded trace and another one, or an empty text if
/// they agree. If the order of events is not defined (`ordered` is false), they are compared as a
/// set, but the steps of the main graph must not go backwards.
[[nodiscard]] std::string first_difference(const json::array& expected, const json::array& got,
                                           bool ordered);

/// Whether the case needs a feature that superstep does not have yet.
[[nodiscard]] bool is_unsupported(const json::array& trace);

} // namespace superstep::graph_cases
