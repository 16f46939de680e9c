// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// Bytes behind a text that spare its parser a copy of it.
inline constexpr auto json_padding = std::size_t{64};

/// As parse_json(), for a text with readable memory behind its end, as the rest of a string's
/// capacity is. With `spare` >= json_padding the text is parsed where it is: for texts of megabytes.
[[nodiscard]] result<json::value> parse_padded_json(std::string_view text, std::size_t spare,
                                                    json_limits limits = {},
                                                    json::storage_ptr memory = {});

} // namespace superstep
