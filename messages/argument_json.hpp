// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace superstep {

/// Parses JSON as models write it into the arguments of calls. Strings may hold line breaks and
/// other control characters, which JSON forbids, and of a key that appears twice the last value
/// counts. A byte order mark in front is skipped.
[[nodiscard]] result<json::value> parse_argument_json(std::string_view text);

/// Returns the offset of the first integer in a JSON text that does not fit 64 bits.
[[nodiscard]] std::optional<std::size_t> find_unfit_integer(std::string_view text);

/// Whether a number is infinite, which JSON cannot write: what was read was too large for a double.
[[nodiscard]] bool holds_infinity(const json::value&);

/// Returns the text without a byte order mark in front.
[[nodiscard]] std::string_view without_bom(std::string_view text);

} // namespace superstep
