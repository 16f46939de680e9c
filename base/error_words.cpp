// SPDX-License-Identifier: Apache-2.0
// Parts of error texts and reports that several components share.
#include "base/error_words.hpp"

#include <filesystem>
#include <system_error>

namespace superstep {

std::string counted(std::uint64_t n, std::string_view noun) {
  return std::to_string(n).append(" ").append(noun).append(n == 1 ? "" : "s");
}

result<void> check_folder_of(std::string_view option, const std::string& path) {
  const auto folder = std::filesystem::path{path}.parent_path();
  auto failed = std::error_code{};
  const auto kind = std::filesystem::status(folder, failed).type();
  const auto start = std::string{option} + ": ";
  if (folder.empty() || kind == std::filesystem::file_type::directory)
    return {};
  if (kind == std::filesystem::file_type::not_found && failed != std::errc::not_a_directory)
    return error{errc::io_failed,
                 start + "the folder " + folder.string() + " does not exist; create it first"};
  if (kind == std::filesystem::file_type::none) // unknown: opening the file gives the reason
    return {};
  return error{errc::io_failed, start + folder.string() + " is not a folder; use another path"};
}

} // namespace superstep
