// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/rate_limiter.hpp>
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
  give_up,   ///< return the error, because another attempt would not help
  try_again, ///< make another attempt
  try_once,  ///< make another attempt, but only once for this kind of answer
  wait,      ///< wait, then make another attempt; counted separately (too many requests)
};

/// Classification of a failed attempt.
struct failure {
  model_errc kind = model_errc::bad_answer;
  next_step next = next_step::give_up;
  /// Whether the provider is overloaded, so that fewer calls should be in flight.
  bool is_overload = false;
};

/// Classifies an HTTP error status. `code` and `type` are those of the error in the body.
[[nodiscard]] failure judge(int status, std::string_view code, std::string_view type = {}) noexcept;
/// Classifies an error that a stream reports after status 200, by its code or, if that is not
/// known, by its type.
[[nodiscard]] failure judge_stream(std::string_view code, std::string_view type = {}) noexcept;
/// Classifies an answer with status 200 that cannot be used. errc::parse_failed means that it is
/// not JSON.
[[nodiscard]] failure judge_answer(const std::error_code& code) noexcept;
/// Classifies a failure of the HTTP client.
[[nodiscard]] failure judge(const std::error_code& transport) noexcept;

/// Returns the wait that the server requests in the header retry-after-ms or Retry-After (in
/// seconds or as a date; RFC 9110, section 10.2.3).
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_retry_after(const http_headers& headers, std::chrono::system_clock::time_point now);

/// The limits whose remainder read_exhausted() ignores.
struct ignored_remainders {
  bool requests = false;
  bool tokens = false;
};

/// Returns the time until exhausted requests or tokens are available again; nullopt if none are
/// exhausted. Reads the rate-limit headers of OpenAI (durations) and Anthropic (timestamps).
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_exhausted(const http_headers& headers, std::chrono::system_clock::time_point now,
               ignored_remainders ignored = {});

/// Returns the limit that rate-limit headers of OpenAI or Anthropic report; nullopt if they do not
/// report its limit, remainder and reset.
/// @param what "requests" or "tokens"
[[nodiscard]] std::optional<server_rate> read_rate(const http_headers& headers,
                                                   std::string_view what,
                                                   std::chrono::system_clock::time_point now);

/// Parses a duration such as 6m0s, 1h2m, 1.5s, 20ms or 0s. A number without unit is in seconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

/// Returns a random wait between zero and a bound (full jitter). The bound starts at `base` and
/// doubles with each attempt, up to `limit`. `attempt` is counted from 1. The same key, turn and
/// attempt always give the same wait.
[[nodiscard]] std::chrono::milliseconds backoff(std::chrono::milliseconds base,
                                                std::chrono::milliseconds limit,
                                                std::string_view run_key, std::uint32_t turn,
                                                std::uint32_t attempt);

} // namespace superstep::models
