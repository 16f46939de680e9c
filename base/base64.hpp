// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

/// Returns the Base64 text of bytes (RFC 4648, with padding, without line ends).
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Returns the bytes of a Base64 text; an empty string if the text is invalid.
[[nodiscard]] std::string from_base64(std::string_view text);

} // namespace superstep
