// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/retry.hpp"

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

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
};
[[nodiscard]] server_fault read_fault(std::string_view body);
[[nodiscard]] server_fault read_fault(const json::object& body);

/// The text with every occurrence of the secret blotted out. An empty secret is none.
[[nodiscard]] std::string without_secret(std::string text, std::string_view secret);

/// An event of a stream that says that the answer failed.
[[nodiscard]] fault stream_fault(const json::object& event);

} // namespace superstep::models
