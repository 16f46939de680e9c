// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Compression and checksums of rows. A row on disk is either its JSON text or, if that is shorter,
// its compressed form: the letter `z`, the length of the text in four bytes (little-endian) with
// the highest bit set, and a Zstandard frame made with the dictionary in row_dictionary.hpp.
// Without that bit, as older versions wrote rows, a zlib stream follows.
namespace superstep::detail {

/// Minimum size in bytes of a text that is compressed. For shorter texts, the saved space is not
/// worth the time.
inline constexpr std::size_t packed_min = 256;

/// Returns the bytes to store for the text of a row. Compresses the text if it has at least
/// packed_min bytes and becomes shorter, or if it starts with `z`.
[[nodiscard]] std::string pack_row(std::string text);
/// Returns the text of a row; an error if the compressed form is damaged.
[[nodiscard]] result<std::string> unpack_row(std::string_view bytes);
/// Returns the CRC-32 over the parts. Each part is followed by a zero byte, so that moving bytes
/// from one part to the next changes the sum.
[[nodiscard]] std::uint32_t checksum_of(std::initializer_list<std::string_view> parts) noexcept;

} // namespace superstep::detail
