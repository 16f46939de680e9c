// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep::detail {

/// Whether two values are equal and have the same text. The equality of the library ignores the
/// order of members, and whether a number is 1 or 1.0.
[[nodiscard]] bool is_same_json(const json::value&, const json::value&);

} // namespace superstep::detail
