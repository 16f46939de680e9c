// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>

namespace superstep::graph_cases {

/// What is first found different between the trace that was recorded and another one; empty when
/// they agree. Where the order of events is not defined (`ordered` false) they are compared as a
/// set, but the steps of the main graph may not go backwards.
[[nodiscard]] std::string first_difference(const json::array& expected, const json::array& got,
                                           bool ordered);

/// Whether the case asked for something that superstep does not do yet.
[[nodiscard]] bool is_unsupported(const json::array& trace);

} // namespace superstep::graph_cases
