// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/model_error.hpp>
#include <superstep/net/http_client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::models {

/// What becomes of a call after an attempt that failed.
enum class next_step : std::uint8_t {
  give_up,   ///< asking again would not help
  try_again, ///< counts as an attempt
  try_once,  ///< the same, but one such answer is enough: the next one is final
  wait,      ///< "too many requests": does not count
};

struct failure {
  model_errc kind = model_errc::bad_answer;
  next_step next = next_step::give_up;
  bool is_overload = false; ///< the provider has too much to do: lower the calls in flight
};

/// `code` is error.code (or error.type) of the server's answer.
[[nodiscard]] failure judge(int status, std::string_view code) noexcept;
/// For an error that comes in the middle of a stream, whose status was 200.
[[nodiscard]] failure judge_stream(std::string_view code) noexcept;
/// For an answer of status 200 that is not usable: errc::parse_failed means that it is not JSON.
[[nodiscard]] failure judge_answer(const std::error_code& code) noexcept;
/// For what the HTTP client could not do.
[[nodiscard]] failure judge(const std::error_code& transport) noexcept;

/// How long the server asks to wait: retry-after-ms, or Retry-After in seconds or as a date.
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_retry_after(const http_headers& headers, std::chrono::system_clock::time_point now);

/// Time until requests or tokens, of which the headers say that none remain, are there again: in
/// OpenAI's headers (with durations) or Anthropic's (with times).
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_exhausted(const http_headers& headers, std::chrono::system_clock::time_point now);

/// "6m0s", "1h2m", "1.5s", "20ms", "0s"; a bare number is seconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

/// Back-off with full jitter: anywhere between zero and an upper bound that doubles with each
/// attempt (from 1), the same in every run for the same key, turn and attempt.
[[nodiscard]] std::chrono::milliseconds backoff(std::uint32_t base_ms, std::uint32_t max_ms,
                                                std::string_view run_key, std::uint32_t turn,
                                                std::uint32_t attempt);

} // namespace superstep::models
