// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep::graph_cases {

/// add_messages over JSON: the list that a `messages` channel of a case holds, and what was written
/// to it. Throws for what is no message.
void add_json_messages(json::value& into, json::value&& more);

} // namespace superstep::graph_cases
