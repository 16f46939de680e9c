// SPDX-License-Identifier: Apache-2.0
// Classification of failures, Retry-After, rate-limit headers, backoff.
#include "models/retry.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;
using namespace superstep::models;
using namespace std::chrono_literals;

namespace {

struct status_case {
  int status;
  std::string_view code;
  model_errc kind;
  next_step next;
  bool is_overload;
};
std::ostream& operator<<(std::ostream& out, const status_case& c) {
  return out << c.status << c.code;
}

const auto status_cases = std::vector<status_case>{
    {400, "", model_errc::bad_request, next_step::give_up, false},
    {401, "", model_errc::unauthorized, next_step::give_up, false},
    {402, "", model_errc::quota_exhausted, next_step::give_up, false},
    {403, "", model_errc::unauthorized, next_step::give_up, false},
    {404, "", model_errc::not_found, next_step::give_up, false},
    {408, "", model_errc::timed_out, next_step::try_again, false},
    {409, "", model_errc::server_error, next_step::try_again, false},
    {422, "", model_errc::bad_request, next_step::give_up, false},
    {429, "rate_limit_exceeded", model_errc::rate_limited, next_step::wait, true},
    {429, "insufficient_quota", model_errc::quota_exhausted, next_step::give_up, false},
    {500, "", model_errc::server_error, next_step::try_again, false},
    {503, "", model_errc::server_error, next_step::try_again, true},
    {529, "", model_errc::server_error, next_step::try_again, true},
    {301, "", model_errc::bad_answer, next_step::give_up, false},
};

struct after_case {
  std::string_view name;
  http_headers headers;
  long long expected; // -1 if there is none
};
std::ostream& operator<<(std::ostream& out, const after_case& c) {
  return out << c.name;
}

const auto now = std::chrono::system_clock::from_time_t(784111777) - 500ms; // 08:49:36.5 below
const auto after_cases = std::vector<after_case>{
    {"none", {}, -1},
    {"seconds", {{"Retry-After", "3"}}, 3000},
    {"fractions are rounded up", {{"Retry-After", "0.0501"}}, 51},
    {"milliseconds take precedence", {{"Retry-After", "3"}, {"Retry-After-Ms", "50"}}, 50},
    {"a date", {{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 500},
    {"a date in the past", {{"retry-after", "Sun, 06 Nov 1994 08:49:30 GMT"}}, 0},
    {"a date in the far future", {{"retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"}}, 86'400'000},
    {"nonsense", {{"retry-after", "soon"}}, -1},
    {"a negative time", {{"retry-after", "-3"}}, -1},
    {"a long time is limited to a day", {{"retry-after", "99999999999999"}}, 86'400'000},
};

struct duration_case {
  std::string_view text;
  long long expected;
};
std::ostream& operator<<(std::ostream& out, const duration_case& c) {
  return out << c.text;
}
const auto duration_cases = std::vector<duration_case>{{"6m0s", 360'000}, {"1h2m3s", 3'723'000},
                                                       {"20ms", 20},      {"1.5s", 1500},
                                                       {"0s", 0},         {"7", 7000},
                                                       {"", -1},          {"m", -1},
                                                       {"1d", -1},        {"-1s", -1}};

} // namespace

BOOST_DATA_TEST_CASE(http_status_determines_error_kind_and_retry,
                     boost::unit_test::data::make(status_cases), c) {
  const auto judged = judge(c.status, c.code);
  BOOST_TEST((judged.kind == c.kind));
  BOOST_TEST((judged.next == c.next));
  BOOST_TEST(judged.is_overload == c.is_overload);
}

BOOST_AUTO_TEST_CASE(transport_errors_are_classified_for_retry) {
  BOOST_TEST((judge(make_error_code(errc::io_failed)).next == next_step::try_again));
  BOOST_TEST((judge(make_error_code(errc::timed_out)).kind == model_errc::timed_out));
  BOOST_TEST((judge(make_error_code(errc::too_large)).next == next_step::give_up));
  BOOST_TEST((judge(make_error_code(errc::shortage)).next == next_step::give_up));
}

BOOST_DATA_TEST_CASE(retry_after_header_is_parsed_as_wait_time,
                     boost::unit_test::data::make(after_cases), c) {
  const auto read = read_retry_after(c.headers, now);
  BOOST_TEST((read ? read->count() : -1) == c.expected);
}

BOOST_DATA_TEST_CASE(header_duration_is_parsed_as_milliseconds,
                     boost::unit_test::data::make(duration_cases), c) {
  const auto read = read_duration(c.text);
  BOOST_TEST((read ? read->count() : -1) == c.expected);
}

BOOST_AUTO_TEST_CASE(exhausted_limits_in_headers_give_longest_reset_time) {
  const auto some =
      http_headers{{"x-ratelimit-remaining-requests", "5"}, {"x-ratelimit-reset-requests", "9s"}};
  BOOST_TEST(!read_exhausted(some, now));
  const auto none = http_headers{{"x-ratelimit-remaining-requests", "0"},
                                 {"x-ratelimit-reset-requests", "120ms"},
                                 {"x-ratelimit-remaining-tokens", "0"},
                                 {"x-ratelimit-reset-tokens", "2s"}};
  BOOST_TEST(read_exhausted(none, now)->count() == 2000);
  BOOST_TEST(read_exhausted(none, now, {.tokens = true})->count() == 120);
  BOOST_TEST(!read_exhausted(none, now, {.requests = true, .tokens = true}));
  const auto anthropic =
      http_headers{{"anthropic-ratelimit-input-tokens-remaining", "0"},
                   {"anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:40Z"},
                   {"anthropic-ratelimit-output-tokens-remaining", "7"},
                   {"anthropic-ratelimit-output-tokens-reset", "1994-11-06T08:50:00Z"}};
  BOOST_TEST(read_exhausted(anthropic, now)->count() == 3500);
}

BOOST_AUTO_TEST_CASE(stream_errors_are_classified_by_code) {
  BOOST_TEST((judge_stream("overloaded_error").next == next_step::try_again));
  BOOST_TEST(judge_stream("overloaded_error").is_overload);
  BOOST_TEST((judge_stream("rate_limit_error").next == next_step::wait));
  BOOST_TEST((judge_stream("invalid_request_error").next == next_step::give_up));
  BOOST_TEST((judge_stream("insufficient_quota").kind == model_errc::quota_exhausted));
  BOOST_TEST((judge_stream("").kind == model_errc::server_error));
  BOOST_TEST((judge_stream("invalid_image_url").next == next_step::give_up));
  BOOST_TEST((judge_stream("vector_store_timeout").next == next_step::try_again));
}

BOOST_AUTO_TEST_CASE(errors_with_unknown_codes_are_classified_by_type) {
  BOOST_TEST((judge_stream("image_of_2050", "invalid_request_error").next == next_step::give_up));
  BOOST_TEST((judge_stream("server_error", "invalid_request_error").next == next_step::try_again));
  BOOST_TEST((judge(429, "429", "insufficient_quota").kind == model_errc::quota_exhausted));
  BOOST_TEST((judge(429, "429", "requests").kind == model_errc::rate_limited));
}

BOOST_AUTO_TEST_CASE(backoff_is_bounded_and_reproducible) {
  auto longest = 0ms;
  for (auto attempt = 1U; attempt < 50; ++attempt) {
    const auto time = backoff(500ms, 60s, "row", 3, attempt);
    BOOST_TEST((time == backoff(500ms, 60s, "row", 3, attempt)));
    BOOST_TEST(time.count() <= 60'000);
    if (attempt < 8)
      BOOST_TEST(time.count() <= (500 << (attempt - 1)));
    longest = std::max(longest, time);
  }
  BOOST_TEST(longest.count() > 30'000);
  BOOST_TEST((backoff(500ms, 60s, "row", 3, 9) != backoff(500ms, 60s, "other", 3, 9)));
}

BOOST_AUTO_TEST_CASE(every_model_error_code_has_a_message) {
  for (auto code = 1; code <= static_cast<int>(model_errc::bad_configuration); ++code)
    BOOST_TEST(make_error_code(static_cast<model_errc>(code)).message() != "unknown model error");
}
