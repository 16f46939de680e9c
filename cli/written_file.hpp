// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <string>
#include <string_view>

namespace superstep::cli {

/// Whether the path leads to a device or a pipe. Text is written into it: a rename would put a file
/// in its place.
[[nodiscard]] bool is_stream(const std::string& path);

/// Writes a file as a whole: if this fails, for example because the disk is full, an earlier file
/// is unchanged. A new file can be read only by its owner. Writes into a device or a pipe.
[[nodiscard]] result<void> write_file(const std::string& path, std::string_view content);

} // namespace superstep::cli
