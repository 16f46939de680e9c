// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace superstep {

/// Parses JSON as models write it in tool arguments. Strings may contain raw line breaks and other
/// control characters. Of duplicate keys the last value counts. A leading byte order mark is
/// skipped.
///
/// @return the value; the error of parse_json() for the original text; or errc::parse_failed for an
/// integer that does not fit in 64 bits
[[nodiscard]] result<json::value> parse_argument_json(std::string_view text);

/// Returns the offset of the first integer in a JSON text that does not fit in 64 bits; nullopt if
/// there is none.
[[nodiscard]] std::optional<std::size_t> find_unfit_integer(std::string_view text);

/// Whether a value contains an infinite number, the result of parsing one too large for a double.
[[nodiscard]] bool holds_infinity(const json::value&);

/// Returns the text without a leading byte order mark.
[[nodiscard]] std::string_view without_bom(std::string_view text);

} // namespace superstep
