// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep {

inline constexpr auto hex_digits = std::string_view{"0123456789abcdef"};

/// Appends a byte as two hexadecimal digits.
inline void append_hex(std::string& out, unsigned char byte) {
  out += hex_digits[byte >> 4U];
  out += hex_digits[byte & 15U];
}

} // namespace superstep
