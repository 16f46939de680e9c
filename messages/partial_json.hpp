// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// Parses a prefix of a JSON text, such as tool arguments that are still being streamed. Open
/// strings, arrays and objects are closed. A tail that cannot be completed (`tru`, a key without a
/// value) is removed back to the last point at which the innermost bracket could be closed. Strings
/// may contain raw control characters.
///
/// @return null if the brackets do not match; an error if no prefix of the text is JSON
/// @par Complexity
/// O(size of the text).
///
/// Source: `parse_partial_json` in langchain-core 1.7.2, utils/json.py.
[[nodiscard]] result<json::value> parse_partial_json(std::string_view text);

} // namespace superstep
