// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Compression and checksums of rows. A row on disk is its JSON text or, where that is shorter, the
// letter `z`, the length of the text in four bytes (little-endian) and a zlib stream.
namespace superstep::detail {

/// Shorter texts are not compressed, because the gain does not justify the time.
inline constexpr std::size_t packed_min = 256;

/// Returns the form of a row on disk.
[[nodiscard]] std::string pack_row(std::string text);
/// Returns the text of a row; an error if the compressed form is damaged.
[[nodiscard]] result<std::string> unpack_row(std::string_view bytes);
/// Returns the CRC-32 over the parts, each followed by a zero byte.
[[nodiscard]] std::uint32_t checksum_of(std::initializer_list<std::string_view> parts) noexcept;

} // namespace superstep::detail
