// SPDX-License-Identifier: Apache-2.0
// Decides what to do after a failed attempt, and how long to wait before the next one. All
// functions are pure; the loop is in provider_model.cpp.
#include "models/retry.hpp"

#include "models/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <locale>
#include <sstream>

namespace superstep::models {

namespace {

using std::chrono::milliseconds;

/// Parses a non-negative number at the start of `text` and removes the number from `text`.
std::optional<double> take_number(std::string_view& text) {
  auto value = 0.0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (read.ec != std::errc{} || !std::isfinite(value) || value < 0)
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return value;
}

/// Rounds up, so that no request is sent too early. The result is at most one day; no provider
/// requests a longer wait.
milliseconds whole_ms(double ms) {
  return milliseconds{static_cast<std::int64_t>(std::ceil(std::min(ms, 86'400'000.0)))};
}

/// Returns the milliseconds of a unit in OpenAI's durations.
std::optional<double> unit_in_ms(std::string_view unit) {
  if (unit == "ms")
    return 1.0;
  if (unit == "s" || unit.empty())
    return 1e3;
  if (unit == "m")
    return 60e3;
  if (unit == "h")
    return 3600e3;
  return std::nullopt;
}

/// Returns the time in UTC, or a nearer one that a time_point can represent: 1970 to 2255.
std::chrono::system_clock::time_point time_of(std::tm parts) {
  constexpr auto seconds_max = std::time_t{9'000'000'000};
  return std::chrono::system_clock::from_time_t(
      std::clamp(timegm(&parts), std::time_t{0}, seconds_max));
}

/// Parses an HTTP date as in RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::chrono::system_clock::time_point> read_http_date(const std::string& text) {
  auto parts = std::tm{};
  auto in = std::istringstream{text};
  in.imbue(std::locale::classic());
  in >> std::get_time(&parts, "%a, %d %b %Y %H:%M:%S GMT");
  if (in.fail())
    return std::nullopt;
  return time_of(parts);
}

milliseconds time_until(std::chrono::system_clock::time_point date,
                        std::chrono::system_clock::time_point now) {
  return std::clamp(std::chrono::ceil<milliseconds>(date - now), milliseconds{0}, whole_ms(1e12));
}

/// A pair of rate-limit headers: the amount that is left, and when the full amount is available
/// again.
struct remainder {
  std::string_view left;
  std::string_view reset;
  bool ignored_remainders::*of; ///< null for input and output tokens
  bool is_date;                 ///< whether `reset` is a point in time; otherwise it is a duration
};
constexpr auto remainders = std::array{
    remainder{"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests",
              &ignored_remainders::requests, false},
    remainder{"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens",
              &ignored_remainders::tokens, false},
    remainder{"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset",
              &ignored_remainders::requests, true},
    remainder{"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset",
              &ignored_remainders::tokens, true},
    remainder{"anthropic-ratelimit-input-tokens-remaining",
              "anthropic-ratelimit-input-tokens-reset", nullptr, true},
    remainder{"anthropic-ratelimit-output-tokens-remaining",
              "anthropic-ratelimit-output-tokens-reset", nullptr, true},
};

/// Parses an RFC 3339 timestamp in UTC, such as 2026-11-21T08:49:37Z. Ignores fractions of a
/// second.
std::optional<std::chrono::system_clock::time_point> read_timestamp(const std::string& text) {
  auto parts = std::tm{};
  auto in = std::istringstream{text};
  in.imbue(std::locale::classic());
  in >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%S");
  if (in.fail() || !text.ends_with('Z'))
    return std::nullopt;
  return time_of(parts);
}

} // namespace

failure judge(int status, std::string_view code, std::string_view type) noexcept {
  if (status == 429 || status == 402) {
    // A human must resolve an exhausted quota. Other rate limits end after some time.
    constexpr auto exhausted = std::array<std::string_view, 3>{
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active"};
    const auto is_exhausted = [&](std::string_view name) {
      return std::ranges::find(exhausted, name) != exhausted.end();
    };
    if (status == 402 || is_exhausted(code) || is_exhausted(type))
      return {model_errc::quota_exhausted, next_step::give_up, false};
    return {model_errc::rate_limited, next_step::wait, true};
  }
  if (status == 408)
    return {model_errc::timed_out, next_step::try_again, false};
  // 409 is a temporary conflict, for example a lock timeout at OpenAI.
  if (status >= 500 || status == 409)
    return {model_errc::server_error, next_step::try_again, status == 503 || status == 529};
  if (status == 401 || status == 403)
    return {model_errc::unauthorized, next_step::give_up, false};
  if (status == 404)
    return {model_errc::not_found, next_step::give_up, false};
  if (status >= 400)
    return {model_errc::bad_request, next_step::give_up, false};
  return {model_errc::bad_answer, next_step::give_up, false};
}

failure judge_stream(std::string_view code, std::string_view type) noexcept {
  struct meaning {
    std::string_view code;
    int status;
  };
  // HTTP statuses with the same meaning as error codes that OpenAI and Anthropic send inside a
  // stream. Source of the last group: `ResponseError` in OpenAI's Python SDK 3.57.0.
  constexpr auto known = std::array{
      meaning{"rate_limit_error", 429},
      meaning{"rate_limit_exceeded", 429},
      meaning{"insufficient_quota", 402},
      meaning{"billing_error", 402},
      meaning{"overloaded_error", 529},
      meaning{"authentication_error", 401},
      meaning{"invalid_api_key", 401},
      meaning{"permission_error", 403},
      meaning{"not_found_error", 404},
      meaning{"model_not_found", 404},
      meaning{"invalid_request_error", 400},
      meaning{"invalid_prompt", 400},
      meaning{"context_length_exceeded", 400},
      meaning{"request_too_large", 413},
      meaning{"server_error", 500},
      meaning{"api_error", 500},

      meaning{"bio_policy", 400},
      meaning{"misalignment_policy_violation", 400},
      meaning{"data_residency_mismatch", 400},
      meaning{"image_content_policy_violation", 400},
      meaning{"invalid_image", 400},
      meaning{"invalid_image_format", 400},
      meaning{"invalid_base64_image", 400},
      meaning{"invalid_image_url", 400},
      meaning{"invalid_image_mode", 400},
      meaning{"image_too_large", 400},
      meaning{"image_too_small", 400},
      meaning{"image_parse_error", 400},
      meaning{"image_file_too_large", 400},
      meaning{"unsupported_image_media_type", 400},
      meaning{"empty_image_file", 400},
      meaning{"image_file_not_found", 400},
  };
  for (const auto name : {code, type})
    for (const auto& one : known)
      if (one.code == name)
        return judge(one.status, name);
  return judge(500, code);
}

failure judge_answer(const std::error_code& code) noexcept {
  // The data may have been damaged on the way, or a proxy may have sent an error page. Another
  // attempt may succeed.
  if (code == make_error_code(errc::parse_failed))
    return {model_errc::bad_answer, next_step::try_again, false};
  if (code == make_error_code(model_errc::server_error))
    return {model_errc::server_error, next_step::try_again, false};
  if (code == make_error_code(model_errc::rate_limited))
    return {model_errc::rate_limited, next_step::wait, true};
  for (const auto final : {model_errc::bad_request, model_errc::unauthorized, model_errc::not_found,
                           model_errc::quota_exhausted})
    if (code == make_error_code(final))
      return {final, next_step::give_up, false};
  return {model_errc::bad_answer, next_step::try_once, false};
}

failure judge(const std::error_code& transport) noexcept {
  if (transport == make_error_code(errc::timed_out))
    return {model_errc::timed_out, next_step::try_again, false};
  if (is_shortage(transport)) // the HTTP client has already waited until the request's timeout
    return {model_errc::unreachable, next_step::give_up, false};
  if (transport == make_error_code(errc::too_large))
    return {model_errc::bad_answer, next_step::give_up, false};
  if (transport == make_error_code(errc::invalid_argument))
    return {model_errc::bad_configuration, next_step::give_up, false};
  if (transport == make_error_code(errc::cancelled))
    return {model_errc::unreachable, next_step::give_up, false};
  return {model_errc::unreachable, next_step::try_again, false};
}

std::optional<milliseconds> read_retry_after(const http_headers& headers,
                                             std::chrono::system_clock::time_point now) {
  if (const auto* ms = find_header(headers, "retry-after-ms")) {
    auto text = std::string_view{*ms};
    if (const auto number = take_number(text); number && text.empty())
      return whole_ms(*number);
  }
  const auto* after = find_header(headers, "retry-after");
  if (after == nullptr)
    return std::nullopt;
  auto text = std::string_view{*after};
  if (const auto number = take_number(text); number && text.empty())
    return whole_ms(*number * 1e3);
  const auto date = read_http_date(*after);
  if (!date)
    return std::nullopt;
  return time_until(*date, now);
}

std::optional<milliseconds> read_duration(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  auto sum = 0.0;
  while (!text.empty()) {
    const auto number = take_number(text);
    const auto unit = text.substr(0, text.find_first_of("0123456789."));
    const auto factor = unit_in_ms(unit);
    if (!number || !factor)
      return std::nullopt;
    sum += *number * *factor;
    text.remove_prefix(unit.size());
  }
  return whole_ms(sum);
}

std::optional<milliseconds> read_exhausted(const http_headers& headers,
                                           std::chrono::system_clock::time_point now,
                                           ignored_remainders ignored) {
  auto longest = std::optional<milliseconds>{};
  for (const auto& one : remainders) {
    const auto* left = find_header(headers, one.left);
    if (left == nullptr || *left != "0" || (one.of != nullptr && ignored.*one.of))
      continue;
    const auto* reset = find_header(headers, one.reset);
    if (reset == nullptr)
      continue;
    auto wait = std::optional<milliseconds>{};
    if (one.is_date) {
      if (const auto date = read_timestamp(*reset))
        wait = time_until(*date, now);
    } else {
      wait = read_duration(*reset);
    }
    if (wait)
      longest = std::max(longest.value_or(milliseconds{0}), *wait);
  }
  return longest;
}

std::optional<server_rate> read_rate(const http_headers& headers, std::string_view what,
                                     std::chrono::system_clock::time_point now) {
  const auto count = [&](const std::string& name) -> std::optional<std::int64_t> {
    const auto* given = find_header(headers, name);
    auto text = given ? std::string_view{*given} : std::string_view{};
    const auto number = take_number(text);
    constexpr auto most = 1e15;
    if (!number || !text.empty() || *number > most)
      return std::nullopt;
    return static_cast<std::int64_t>(*number);
  };
  for (const auto is_openai : {true, false}) {
    const auto name = [&](std::string_view part) {
      return is_openai ? fmt::format("x-ratelimit-{}-{}", part, what)
                       : fmt::format("anthropic-ratelimit-{}-{}", what, part);
    };
    const auto limit = count(name("limit"));
    const auto remaining = count(name("remaining"));
    const auto* reset = find_header(headers, name("reset"));
    if (!limit || !remaining || reset == nullptr)
      continue;
    auto wait = is_openai ? read_duration(*reset) : std::optional<milliseconds>{};
    if (const auto date = is_openai ? std::nullopt : read_timestamp(*reset))
      wait = time_until(*date, now);
    if (wait)
      return server_rate{*limit, *remaining, *wait};
  }
  return std::nullopt;
}

milliseconds backoff(milliseconds base, milliseconds limit, std::string_view run_key,
                     std::uint32_t turn, std::uint32_t attempt) {
  // The exponent is limited, so that doubling cannot overflow.
  const auto doubled =
      std::ldexp(static_cast<double>(base.count()), static_cast<int>(std::min(attempt, 33U)) - 1);
  const auto bound = std::min(doubled, static_cast<double>(limit.count()));
  auto random = seeded_random{run_key, turn, attempt};
  return milliseconds{static_cast<std::int64_t>(bound * random.unit())};
}

} // namespace superstep::models
