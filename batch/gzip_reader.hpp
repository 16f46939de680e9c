// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"

#include <functional>
#include <string_view>

namespace superstep::detail {

/// Whether bytes begin a gzip file.
[[nodiscard]] bool is_gzip(std::string_view bytes) noexcept;

/// Copies the rest of a readable file of any type to `to`. Decompresses it if it is gzip, also
/// several gzip members in a row. Zeros after the last member are ignored, as gzip(1) does.
/// @param is_stopped asked before each block, also while a pipe has no data; empty if the copy
/// cannot be stopped
/// @return errc::parse_failed with the file's path if the compressed data is damaged or incomplete;
///   errc::cancelled if `is_stopped` returns true
[[nodiscard]] result<void> copy_decompressed(const file& from, file& to,
                                             const std::function<bool()>& is_stopped);

} // namespace superstep::detail
