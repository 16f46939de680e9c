// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::models {

/// An answer as it stands in a journal. Times in milliseconds since the question.
struct journal_entry {
  std::string run;
  std::uint32_t turn = 0;
  std::string question; ///< hash_of()
  double ms = 0;
  std::vector<std::pair<double, message_chunk>> chunks;
  result<message> answer{message{}};
};

/// What tells questions apart: the words of the messages, the names of the tools, and the
/// parameters; no ids of messages and no metadata, which may differ from run to run.
[[nodiscard]] std::string hash_of(const model_request& request);

/// One line, without its end and the secrets; see without_secrets().
[[nodiscard]] std::string to_line(const journal_entry& entry,
                                  const std::vector<std::string>& secrets = {});
[[nodiscard]] result<journal_entry> read_line(std::string_view line);

[[nodiscard]] std::string_view name_of(model_errc code) noexcept;
[[nodiscard]] std::optional<model_errc> errc_named(std::string_view name) noexcept;

} // namespace superstep::models
