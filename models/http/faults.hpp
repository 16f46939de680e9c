// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/retry.hpp"

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// The failure of an attempt, with a text for the user.
struct fault {
  failure why;
  std::string text;
};

/// Returns the beginning of a server's text for display. If it is not UTF-8, bytes that are not
/// ASCII become question marks.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes_max = 200);

/// The error that a server reports: `{"error": {"message", "code" or "type"}}`, `{"type": "error",
/// "message", "code"}`, `{"error": "text"}`, or any other text.
struct server_fault {
  std::string code; ///< that of the error, or its type if it has none
  std::string type;
  std::string text; ///< at most 500 bytes
  /// HTTP status in the body (a gateway reports it for the server behind it); 0 = none.
  int status = 0;
};
[[nodiscard]] server_fault read_fault(std::string_view body);
[[nodiscard]] server_fault read_fault(const json::object& body);

/// Shorter secrets are not masked.
constexpr auto secret_bytes_min = std::size_t{16};

/// Returns the text with each occurrence of a secret replaced by `***`. Used for errors, logs and
/// recordings. Secrets of fewer than 16 characters are not masked: local servers use keys such as
/// `ollama` or `x`, which occur in ordinary text. Takes linear time.
[[nodiscard]] std::string without_secret(std::string_view text, std::string_view secret);

[[nodiscard]] std::string without_secrets(std::string_view text,
                                          const std::vector<std::string>& secrets);

/// Classifies an error that is reported in an answer with status 200 or in a stream event.
[[nodiscard]] failure judge_fault(const server_fault& said) noexcept;

/// Returns the fault for a stream event that reports an error.
[[nodiscard]] fault stream_fault(const json::object& event);

} // namespace superstep::models
