// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <functional>

namespace superstep::graph_cases {

/// Calls the function for each recorded case in a fixed order, with a copy of `id`, `case`,
/// `expect` and `ordered`.
void for_each_case(const std::function<void(const json::object& record)>&);

} // namespace superstep::graph_cases
