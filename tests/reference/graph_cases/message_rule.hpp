// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep::graph_cases {

/// Applies add_messages to JSON: the list in a `messages` channel of a case, and the values written
/// to it. Throws if a value is not a message.
void add_json_messages(json::value& into, json::value&& more);

} // namespace superstep::graph_cases
