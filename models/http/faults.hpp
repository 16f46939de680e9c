// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/retry.hpp"

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// Why an attempt failed, and a text for the error.
struct fault {
  failure why;
  std::string text;
};

/// Returns the beginning of a server's text for display. Invalid bytes become question marks.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes_max = 200);

/// Error information of a server: `{"error": {"message", "code" or "type"}}`, `{"error": "text"}`,
/// or any other text.
struct server_fault {
  std::string code;
  std::string text; ///< at most 500 bytes
  int status = 0;   ///< status of the server behind a gateway, if the code is a number
};
[[nodiscard]] server_fault read_fault(std::string_view body);
[[nodiscard]] server_fault read_fault(const json::object& body);

/// Shorter secrets are not masked.
constexpr auto secret_bytes_min = std::size_t{16};

/// Returns the text with every occurrence of a secret masked. For errors, logs and recordings, not
/// for content. Secrets of fewer than 16 characters are not masked: local servers use keys such as
/// `ollama` and `x`, which occur in any text. Linear in the length of the text.
[[nodiscard]] std::string without_secret(std::string_view text, std::string_view secret);

[[nodiscard]] std::string without_secrets(std::string_view text,
                                          const std::vector<std::string>& secrets);

/// Decides what to do after an answer with status 200, or a stream event, that reports an error.
[[nodiscard]] failure judge_fault(const server_fault& said) noexcept;

/// Returns the fault of a stream event that reports a failed answer.
[[nodiscard]] fault stream_fault(const json::object& event);

} // namespace superstep::models
