// SPDX-License-Identifier: Apache-2.0
// The parts of the limits per minute: limits shared by provider and key, estimates of tokens,
// rate-limit headers, and the order in which waiting requests are admitted.
#include "models/retry.hpp"
#include "models/shared_rate.hpp"
#include "models/token_estimate.hpp"
#include "support/manual_executor.hpp"

#include <superstep/base/await.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;
using superstep::test::manual_executor;

BOOST_AUTO_TEST_SUITE(rate_parts_suite)

namespace {

constexpr auto start = rate_limiter::time_point{1h};

provider_model_options at(std::string url, std::string key_header) {
  auto out = provider_model_options{};
  out.model = "m";
  out.base_url = std::move(url);
  out.api_key_env = "";
  out.headers.emplace_back("x-key", std::move(key_header));
  return out;
}

rate_limiter rate_of(const provider_model_options& options, const rate_limits& limits) {
  return models::shared_rate(options, limits).value();
}

/// A limit that other processes have used up. It counts how often it was asked.
class used_up final : public limit_source {
public:
  time_point take(std::int64_t /*tokens*/, time_point now) override {
    ++asked;
    return is_free ? now : now + std::chrono::seconds{1};
  }
  void give_back(std::int64_t requests, std::int64_t tokens) override {
    given_back += requests * 1'000'000 + tokens;
  }
  void on_grant(std::function<void()> call) override { call_back = std::move(call); }

  int asked = 0;
  bool is_free = false;
  std::int64_t given_back = 0;
  std::function<void()> call_back;
};

} // namespace

BOOST_AUTO_TEST_CASE(shared_limits_apply_after_own_ones) {
  const auto source = std::make_shared<used_up>();
  const auto sharing = models::limit_sharing{
      .where = "somewhere",
      .open = [&](const std::string& key) -> result<std::shared_ptr<limit_source>> {
        BOOST_TEST(key.find("secret") == std::string::npos, key);
        return std::shared_ptr<limit_source>{source};
      }};
  {
    const auto limits = rate_limits{.requests_per_minute = 1, .tokens_per_minute = 100};
    const auto rate = models::shared_rate(at("http://s", "secret"), limits, sharing).value();
    BOOST_TEST((rate.try_reserve(10, start) == start + std::chrono::seconds{1}));
    source->is_free = true;
    BOOST_TEST((rate.try_reserve(10, start) == start));
    BOOST_TEST(source->asked == 2);
    BOOST_TEST((rate.try_reserve(10, start) > start)); // its own limit is used up
    BOOST_TEST(source->asked == 2);
    rate.settle(start, 10, 4);
    BOOST_TEST(source->given_back == 6);
    rate.cancel(start, 4);
    BOOST_TEST(source->given_back == 1'000'010);
    BOOST_TEST(!!source->call_back);
    // Models that do not share their limits have others.
    BOOST_TEST((rate_of(at("http://s", "secret"), limits).try_reserve(10, start) == start));
  }
  BOOST_TEST(!source->call_back); // removed with the limiter
  const auto failing = models::limit_sharing{
      .where = "nowhere", .open = [](const std::string&) -> result<std::shared_ptr<limit_source>> {
        return error{errc::io_failed, "no database"};
      }};
  const auto failed = models::shared_rate(at("http://s", "k"), {}, failing);
  BOOST_TEST(failed.error().text == "no database");
}

BOOST_AUTO_TEST_CASE(models_with_same_key_share_their_rate) {
  const auto limits = rate_limits{.requests_per_minute = 1};
  const auto first = rate_of(at("http://a", "k1"), limits);
  const auto same = rate_of(at("http://a", "k1"), limits);
  const auto other_key = rate_of(at("http://a", "k2"), limits);
  const auto other_host = rate_of(at("http://b", "k1"), limits);
  BOOST_TEST((first.try_reserve(0, start) == start));
  BOOST_TEST((same.try_reserve(0, start) > start));
  BOOST_TEST((other_key.try_reserve(0, start) == start));
  BOOST_TEST((other_host.try_reserve(0, start) == start));
}

BOOST_AUTO_TEST_CASE(lowest_limit_applies_to_shared_rate) {
  const auto free = rate_of(at("http://c", "k"), {});
  BOOST_TEST(!free.has_limit());
  const auto limited = rate_of(at("http://c", "k"), {.requests_per_minute = 1});
  BOOST_TEST((free.try_reserve(0, start) == start));
  BOOST_TEST((limited.try_reserve(0, start) > start));
}

BOOST_AUTO_TEST_CASE(shared_rate_ends_with_its_last_user) {
  const auto limits = rate_limits{.requests_per_minute = 1};
  {
    const auto first = rate_of(at("http://d", "k"), limits);
    BOOST_TEST((first.try_reserve(0, start) == start));
  }
  const auto later = rate_of(at("http://d", "k"), limits);
  BOOST_TEST((later.try_reserve(0, start) == start));
}

BOOST_AUTO_TEST_CASE(estimate_follows_reported_tokens) {
  auto estimate = models::token_estimate{};
  BOOST_TEST(estimate.of(400, 50) == 150); // four bytes per token, and max_tokens
  BOOST_TEST(estimate.of(400, std::nullopt) == 1'100);
  auto usage = token_usage{};
  usage.input_tokens = 200;
  usage.output_tokens = 30;
  for (auto i = 0; i < 60; ++i)
    estimate.add(400, usage);
  BOOST_TEST(estimate.of(400, std::nullopt) >= 230);
  BOOST_TEST(estimate.of(400, std::nullopt) <= 235);
  BOOST_TEST(estimate.of(400, 10) == 210); // max_tokens is lower than the average
}

BOOST_AUTO_TEST_CASE(limits_are_read_from_headers) {
  const auto now = std::chrono::system_clock::from_time_t(784'111'777); // 1994-11-06T08:49:37Z
  const auto openai = http_headers{{"x-ratelimit-limit-requests", "500"},
                                   {"x-ratelimit-remaining-requests", "499"},
                                   {"x-ratelimit-reset-requests", "120ms"},
                                   {"x-ratelimit-limit-tokens", "30000"}};
  const auto requests = models::read_rate(openai, "requests", now);
  BOOST_REQUIRE(requests.has_value());
  BOOST_TEST(requests->limit == 500);
  BOOST_TEST(requests->remaining == 499);
  BOOST_TEST((requests->reset == 120ms));
  BOOST_TEST(!models::read_rate(openai, "tokens", now).has_value());
  const auto anthropic = http_headers{{"anthropic-ratelimit-tokens-limit", "80000"},
                                      {"anthropic-ratelimit-tokens-remaining", "79000"},
                                      {"anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:40Z"}};
  const auto tokens = models::read_rate(anthropic, "tokens", now);
  BOOST_REQUIRE(tokens.has_value());
  BOOST_TEST(tokens->limit == 80'000);
  BOOST_TEST((tokens->reset == 3s));
}

namespace {

task<void> admit(model_limits& limits, std::string run, std::vector<std::string>& order,
                 std::vector<model_limits::admission>& held) {
  auto admitting = limits.admit(run, 0);
  auto admitted = co_await admitting;
  order.push_back(run);
  held.push_back(std::move(admitted));
}

} // namespace

BOOST_AUTO_TEST_CASE(row_with_many_calls_does_not_delay_others) {
  auto run = manual_executor{};
  auto options = model_limits_options{};
  options.requests_per_minute = 60;
  auto limits = model_limits{options};
  auto order = std::vector<std::string>{};
  auto held = std::vector<model_limits::admission>{};
  auto tasks = std::deque<task<void>>{};
  const auto enter = [&](const char* row) {
    tasks.push_back(admit(limits, row, order, held));
    run.start(tasks.back());
  };
  for (auto i = 0; i < 6; ++i)
    enter("many");
  enter("b");
  enter("c");
  run.advance(3'100ms); // about one request in a second
  BOOST_TEST(order == (std::vector<std::string>{"many", "many", "b", "c"}),
             boost::test_tools::per_element());
  run.advance(10s);
  BOOST_TEST(order.size() == 8U);
}

BOOST_AUTO_TEST_CASE(admission_waits_for_place_in_flight) {
  auto run = manual_executor{};
  auto options = model_limits_options{};
  options.model_calls = 1;
  auto limits = model_limits{options};
  auto order = std::vector<std::string>{};
  auto held = std::vector<model_limits::admission>{};
  auto tasks = std::deque<task<void>>{};
  for (const auto* row : {"a", "b"}) {
    tasks.push_back(admit(limits, row, order, held));
    run.start(tasks.back());
  }
  BOOST_TEST(order.size() == 1U);
  held.clear();
  run.run_ready();
  BOOST_TEST(order == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
