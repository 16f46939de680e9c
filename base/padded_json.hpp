// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// Number of readable bytes after a text that simdjson needs to parse it without a copy.
inline constexpr auto json_padding = std::size_t{64};

/// Parses as parse_json() does. With `spare` >= json_padding, the text is parsed in place instead
/// of being copied, which matters for texts of megabytes.
///
/// @param spare readable bytes after the text, e.g. the rest of a string's capacity
[[nodiscard]] result<json::value> parse_padded_json(std::string_view text, std::size_t spare,
                                                    json_limits limits = {},
                                                    json::storage_ptr memory = {});

} // namespace superstep
