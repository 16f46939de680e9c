// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// Whether a value is what its JSON Schema asks for: type, enum, const, required and unknown
/// members, items, allOf, anyOf and oneOf. Keywords on size and format are left to the tool itself,
/// which can say what is wrong. Refuses what is nested deeper than 256.
[[nodiscard]] bool matches_schema(const json::value& v, const json::value& schema);

} // namespace superstep
