// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace superstep {

/// Reads a mapping that is written as plainly as models mostly write it: keys at the margin, with a
/// text on the same line, a literal block, or a list of texts below. Some fifty times faster than a
/// parser of all of YAML. Nothing: not plain, or wrong; the parser knows.
/// @param values_max keys and texts; nothing when there are more
[[nodiscard]] std::optional<json::object> read_plain_yaml(std::string_view text,
                                                          std::size_t values_max);

} // namespace superstep
