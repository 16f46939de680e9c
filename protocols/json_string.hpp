// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Where a string stops being taken as it stands: at its quote, an escape, a control character or
/// the end of the text.
[[nodiscard]] std::size_t end_of_plain(std::string_view s, std::size_t at, char quote) noexcept;

/// Reads the JSON string whose quote stands at `at`, and goes behind it. Single quotes may be
/// escaped in single quotes.
/// @returns what is wrong; null: nothing. `at` is where that shows.
[[nodiscard]] const char* read_json_string(std::string_view s, std::size_t& at, std::string& out);

} // namespace superstep
