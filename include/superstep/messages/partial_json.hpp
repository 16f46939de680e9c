// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// What a JSON text says so far, for arguments that are still being streamed: open strings, arrays
/// and objects are closed, and a tail that cannot be completed (`tru`, a key alone, a colon without
/// a value) is cut back to the last point where the innermost open bracket could close. Strings may
/// hold control characters as they are. Costs O(text).
///
/// A text whose brackets do not match is null; one of which no beginning is JSON is an error.
[[nodiscard]] result<json::value> parse_partial_json(std::string_view text);

} // namespace superstep
