// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// Number of readable bytes that must follow a text so that simdjson can parse it without a copy.
inline constexpr auto json_padding = std::size_t{64};

/// Parses a JSON text like parse_json(). If `spare` is at least json_padding, the text is parsed in
/// place instead of being copied first, which matters for texts of megabytes.
///
/// @param spare number of readable bytes after the text, for example the unused capacity of a
/// string
[[nodiscard]] result<json::value> parse_padded_json(std::string_view text, std::size_t spare,
                                                    json_limits limits = {},
                                                    json::storage_ptr memory = {});

} // namespace superstep
