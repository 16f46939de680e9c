// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/net/http_client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::models {

/// The action after a failed attempt.
enum class next_step : std::uint8_t {
  give_up,   ///< another attempt would not help
  try_again, ///< retry; counts as an attempt
  try_once,  ///< retry, but fail at the next answer of this kind
  wait,      ///< "too many requests": retry without counting an attempt
};

/// Classification of a failed attempt.
struct failure {
  model_errc kind = model_errc::bad_answer;
  next_step next = next_step::give_up;
  bool is_overload = false; ///< the provider is overloaded: reduce the calls in flight
};

/// Classifies an HTTP error status. `code` is error.code (or error.type) of the response.
[[nodiscard]] failure judge(int status, std::string_view code) noexcept;
/// Classifies an error inside a stream, whose status was 200.
[[nodiscard]] failure judge_stream(std::string_view code) noexcept;
/// Classifies an unusable answer with status 200; errc::parse_failed means that it is not JSON.
[[nodiscard]] failure judge_answer(const std::error_code& code) noexcept;
/// Classifies a failure of the HTTP client.
[[nodiscard]] failure judge(const std::error_code& transport) noexcept;

/// Returns the wait that the server requests: retry-after-ms, or Retry-After in seconds or as a
/// date (RFC 9110, section 10.2.3).
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_retry_after(const http_headers& headers, std::chrono::system_clock::time_point now);

/// Returns the time until exhausted requests or tokens are restored, according to the headers of
/// OpenAI (durations) or Anthropic (timestamps); nullopt if nothing is exhausted.
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_exhausted(const http_headers& headers, std::chrono::system_clock::time_point now);

/// Parses a duration: "6m0s", "1h2m", "1.5s", "20ms", "0s"; a bare number is in seconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

/// Returns a wait with full jitter: random between zero and an upper bound, which doubles with each
/// attempt (from 1). Reproducible: the same key, turn and attempt give the same wait.
[[nodiscard]] std::chrono::milliseconds backoff(std::chrono::milliseconds base,
                                                std::chrono::milliseconds limit,
                                                std::string_view run_key, std::uint32_t turn,
                                                std::uint32_t attempt);

} // namespace superstep::models
