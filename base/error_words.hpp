// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

/// Returns a number with its noun: `1 row`, `2 rows`.
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view noun);

/// Fails if the folder of a file that will be created does not exist, or is not a folder.
/// @param option the option or key with the path, for the error text
[[nodiscard]] result<void> check_folder_of(std::string_view option, const std::string& path);

} // namespace superstep
