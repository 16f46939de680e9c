// SPDX-License-Identifier: Apache-2.0
// The model wrapper that limits concurrent calls, and tool calls per answer.
#include "agents/fake_model.hpp"
#include "agents/limited_model.hpp"
#include "support/manual_executor.hpp"

#include <superstep/base/await.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>

using namespace superstep;

namespace {

/// Counts concurrent calls; every call yields before it ends.
class counting_model final : public chat_model {
public:
  task<result<message>> complete(model_request) const override {
    most_ = std::max<int>(most_, ++inside_);
    co_await sleep_for{std::chrono::nanoseconds{0}};
    --inside_;
    co_return ai_message("done");
  }
  std::string fingerprint() const override { return "counting"; }
  [[nodiscard]] int most() const { return most_; }

private:
  mutable std::atomic<int> inside_{0};
  mutable std::atomic<int> most_{0};
};

std::shared_ptr<model_limits> no_limits() {
  return std::make_shared<model_limits>(model_limits_options{});
}

int most_at_once(std::optional<std::size_t> limit) {
  const auto inner = std::make_shared<const counting_model>();
  auto options = model_limits_options{};
  options.model_calls = limit;
  const auto limited = detail::limit_model(inner, std::make_shared<model_limits>(options));
  auto calls = std::vector<task<result<message>>>{};
  for (auto i = 0; i < 9; ++i)
    calls.push_back(limited->complete({}));
  static_cast<void>(sync_wait(when_all(std::move(calls))));
  return inner->most();
}

} // namespace

BOOST_AUTO_TEST_CASE(concurrent_model_calls_stay_within_limit) {
  BOOST_TEST(most_at_once(1) == 1);
  BOOST_TEST(most_at_once(3) == 3);
  BOOST_TEST(most_at_once(std::nullopt) == 9);
}

BOOST_AUTO_TEST_CASE(token_limit_follows_answers_from_the_first_on) {
  // Answers after 10 ms, with 100 tokens of input and output together.
  class short_model final : public chat_model {
  public:
    task<result<message>> complete(model_request) const override {
      co_await sleep_for{std::chrono::milliseconds{10}};
      auto out = ai_message("done");
      out.usage.emplace();
      out.usage->input_tokens = 10;
      out.usage->output_tokens = 90;
      out.usage->total_tokens = 100;
      co_return out;
    }
    std::string fingerprint() const override { return "short"; }
  };
  auto options = model_limits_options{};
  options.tokens_per_minute = 60'000; // 10 calls per second
  const auto limited = detail::limit_model(std::make_shared<const short_model>(),
                                           std::make_shared<model_limits>(options));
  auto run = test::manual_executor{};
  auto calls = std::vector<task<result<message>>>{};
  for (auto i = 0; i < 50; ++i)
    calls.push_back(limited->complete({}));
  auto all = when_all(std::move(calls));
  const auto took = run.finish(all);
  BOOST_TEST((took < std::chrono::seconds{6}));
  BOOST_TEST((took > std::chrono::seconds{3})); // 10 of the 50 calls may be sent at once
}

BOOST_AUTO_TEST_CASE(limited_model_keeps_fingerprint_of_wrapped_model) {
  const auto limited = detail::limit_model(
      std::make_shared<const testing::fake_model>(std::vector<message>{}), no_limits());
  BOOST_TEST(limited->fingerprint() == "fake");
}

BOOST_AUTO_TEST_CASE(limited_model_passes_errors_through) {
  const auto limited = detail::limit_model(
      std::make_shared<const testing::fake_model>(std::vector<message>{}), no_limits());
  const auto reply = sync_wait(limited->complete({}));
  BOOST_REQUIRE(!reply);
  BOOST_TEST((reply.error().code == model_errc::server_error));
}

BOOST_AUTO_TEST_CASE(answer_with_too_many_tool_calls_is_rejected) {
  auto calls = std::vector<tool_call>(1'001);
  for (auto i = std::size_t{0}; i < calls.size(); ++i) {
    calls[i].id = "c" + std::to_string(i);
    calls[i].name = "f";
  }
  auto many = ai_message({});
  many.tool_calls = calls;
  const auto inner = [&] {
    return std::make_shared<testing::fake_model>(std::vector<message>{many});
  };
  const auto refused = sync_wait(detail::limit_model(inner(), no_limits(), 1'000)->complete({}));
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST(refused.error().text.find("1001 tool calls; the maximum is 1000") !=
             std::string::npos);
  BOOST_TEST(sync_wait(detail::limit_model(inner(), no_limits(), 1'001)->complete({})).has_value());
  BOOST_TEST(sync_wait(detail::limit_model(inner(), no_limits(), 0)->complete({})).has_value());
}
