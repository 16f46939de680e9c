// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::detail {

/// Values in the reference's notation, which its texts for models hold: 'text', True, None,
/// {'a': [1, 2]}. @{
[[nodiscard]] std::string displayed(const json::value&);
[[nodiscard]] std::string displayed(const json::object&);
[[nodiscard]] std::string displayed(std::string_view text);
/// @}

/// JSON with a space after each comma and colon: how results of tools are written for models.
[[nodiscard]] std::string spaced_text(const json::value&);

} // namespace superstep::detail
