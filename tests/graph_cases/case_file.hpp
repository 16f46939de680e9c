// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <functional>

namespace superstep::graph_cases {

/// The copies of the recorded cases, in a fixed order: `id`, `case`, `expect`, `ordered`.
void for_each_case(const std::function<void(const json::object& record)>&);

} // namespace superstep::graph_cases
