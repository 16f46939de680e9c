// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// A row on disk: its JSON text, or `z`, its length in four bytes (little end first) and the text
// compressed by zlib, where that is shorter.
namespace superstep::detail {

/// Below this length compressing does not pay.
inline constexpr std::size_t packed_min = 256;

[[nodiscard]] std::string pack_row(std::string text);
[[nodiscard]] result<std::string> unpack_row(std::string_view bytes);
/// CRC-32 over the parts, each followed by a zero byte.
[[nodiscard]] std::uint32_t checksum_of(std::initializer_list<std::string_view> parts) noexcept;

} // namespace superstep::detail
