// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// JSON as models write it into the arguments of calls: strings may hold line breaks and other
/// control characters as they are, which JSON forbids, and of a key that stands twice the last
/// value counts.
[[nodiscard]] result<json::value> parse_argument_json(std::string_view text);

} // namespace superstep
