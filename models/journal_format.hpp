// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::models {

/// One answer in a journal. Times are milliseconds since the request.
struct journal_entry {
  std::string run;
  std::uint32_t turn = 0;
  std::string question; ///< hash_of() the request
  double ms = 0;
  std::vector<std::pair<double, message_chunk>> chunks;
  result<message> answer{message{}};
};

/// Returns the hash by which a request is identified: message content, tool names, answer schema
/// and parameters. Message ids and metadata are excluded, because they may differ from run to run.
[[nodiscard]] std::string hash_of(const model_request& request);

/// Returns the line of an entry, without a newline and with the secrets masked; see
/// without_secrets().
[[nodiscard]] std::string to_line(const journal_entry& entry,
                                  const std::vector<std::string>& secrets = {});
/// Parses one line; errors are model_errc::bad_configuration.
[[nodiscard]] result<journal_entry> read_line(std::string_view line);

/// Conversion between error codes and their names in journals and scripts. @{
[[nodiscard]] std::string_view name_of(model_errc code) noexcept;
[[nodiscard]] std::optional<model_errc> errc_named(std::string_view name) noexcept;
/// @}

} // namespace superstep::models
