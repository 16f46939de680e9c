// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/retry.hpp"

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// Why an attempt failed, and what is to be told of it.
struct fault {
  failure why;
  std::string text;
};

/// The beginning of what a server said, fit to be shown: bytes that are no text are question marks.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes_max = 200);

/// What a server says about a failure: `{"error": {"message", "code" or "type"}}`,
/// `{"error": "text"}`, or any other text.
struct server_fault {
  std::string code;
  std::string text; ///< at most 500 bytes
  int status = 0;   ///< of the server behind a gateway, if the code is a number
};
[[nodiscard]] server_fault read_fault(std::string_view body);
[[nodiscard]] server_fault read_fault(const json::object& body);

/// Shorter secrets are left as they are.
constexpr auto secret_bytes_min = std::size_t{16};

/// Returns the text with every occurrence of a secret replaced. For errors, logs and recordings,
/// never for content. Secrets of fewer than 16 characters are left: local servers are used with
/// keys like `ollama` and `x`, which occur in any text. Linear in the length of the text.
[[nodiscard]] std::string without_secret(std::string_view text, std::string_view secret);

[[nodiscard]] std::string without_secrets(std::string_view text,
                                          const std::vector<std::string>& secrets);

/// Decides what to do after an answer of status 200, or an event, that reports this.
[[nodiscard]] failure judge_fault(const server_fault& said) noexcept;

/// An event of a stream that says that the answer failed.
[[nodiscard]] fault stream_fault(const json::object& event);

} // namespace superstep::models
