// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::models {

/// One recorded answer. Times are milliseconds after the request.
struct journal_entry {
  std::string run;
  std::uint32_t turn = 0;
  std::uint32_t attempt = 1; ///< model_request::attempt
  std::string question;      ///< hash_of() of the request
  double ms = 0;
  std::vector<std::pair<double, message_chunk>> chunks;
  result<message> answer{message{}};
};

/// Returns the hash that identifies a request. It covers the content of messages, tool names, the
/// answer schema and parameters, but not the ids and metadata of messages, which differ between
/// runs.
[[nodiscard]] std::string hash_of(const model_request& request);

/// Returns an entry as a line without newline, with all secrets masked; see without_secrets().
[[nodiscard]] std::string to_line(const journal_entry& entry,
                                  const std::vector<std::string>& secrets = {});
/// Parses one line. Returns model_errc::bad_configuration if it is invalid.
[[nodiscard]] result<journal_entry> read_line(std::string_view line);

/// Convert error codes to their names in recordings and scripts, and back. @{
[[nodiscard]] std::string_view name_of(model_errc code) noexcept;
[[nodiscard]] std::optional<model_errc> errc_named(std::string_view name) noexcept;
/// @}

} // namespace superstep::models
