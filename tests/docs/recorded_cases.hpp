// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace docs {

/// The ids of all recorded graph cases below a folder, in files of JSON lines, compressed or not.
[[nodiscard]] std::set<std::string> recorded_cases(const std::filesystem::path& folder);

} // namespace docs
