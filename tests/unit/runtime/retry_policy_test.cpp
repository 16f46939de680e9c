// SPDX-License-Identifier: Apache-2.0
// Retry policies: which errors are retried, backoff, jitter and choice of the policy.
#include "runtime/retry_policy.hpp"

#include <superstep/runtime/graph_error.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <system_error>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(retry)

namespace {

template <class E>
std::exception_ptr thrown(E e) {
  return std::make_exception_ptr(std::move(e));
}

retry_policy policy_for(std::uint32_t attempts, bool fits) {
  auto p = retry_policy{};
  p.max_attempts = attempts;
  p.retry_on = [fits](const std::exception_ptr&) { return fits; };
  return p;
}

} // namespace

BOOST_AUTO_TEST_CASE(deterministic_failures_are_not_retried) {
  using std::make_error_code;
  BOOST_TEST(is_worth_a_retry(thrown(std::runtime_error{"once"})));
  BOOST_TEST(is_worth_a_retry(thrown(7)));
  BOOST_TEST(
      is_worth_a_retry(thrown(std::system_error{make_error_code(std::errc::connection_reset)})));
  BOOST_TEST(!is_worth_a_retry(nullptr));
  BOOST_TEST(!is_worth_a_retry(thrown(std::invalid_argument{"bad"})));
  BOOST_TEST(!is_worth_a_retry(thrown(std::bad_cast{})));
  BOOST_TEST(!is_worth_a_retry(thrown(graph_error{run_error{}})));
  BOOST_TEST(
      !is_worth_a_retry(thrown(std::system_error{make_error_code(std::errc::no_space_on_device)})));
}

BOOST_AUTO_TEST_CASE(backoff_grows_up_to_its_maximum) {
  auto p = retry_policy{};
  p.initial_interval = std::chrono::milliseconds{100};
  p.max_interval = std::chrono::milliseconds{350};
  p.jitter = false;
  BOOST_TEST(wait_after(p, 1, 7).count() == 100);
  BOOST_TEST(wait_after(p, 2, 7).count() == 200);
  BOOST_TEST(wait_after(p, 3, 7).count() == 350);
  BOOST_TEST(wait_after(p, 60, 7).count() == 350);
}

BOOST_AUTO_TEST_CASE(jitter_adds_less_than_a_second) {
  auto p = retry_policy{};
  p.initial_interval = std::chrono::milliseconds{100};
  auto random = std::mt19937_64{1};
  auto least = std::chrono::milliseconds::max();
  auto most = std::chrono::milliseconds::min();
  for (auto i = 0; i < 1'000; ++i) {
    const auto wait = wait_after(p, 1, random());
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  BOOST_TEST(least.count() >= 100);
  BOOST_TEST(least.count() < 150);
  BOOST_TEST(most.count() > 1'000);
  BOOST_TEST(most.count() < 1'100);
}

BOOST_AUTO_TEST_CASE(only_first_matching_policy_limits_attempts) {
  const auto policies =
      std::vector<retry_policy>{policy_for(9, false), policy_for(2, true), policy_for(9, true)};
  const auto cause = thrown(std::runtime_error{"x"});
  BOOST_TEST(find_policy(policies, cause, 1) == &policies[1]);
  BOOST_TEST(find_policy(policies, cause, 2) == nullptr);
  BOOST_TEST(find_policy({}, cause, 1) == nullptr);
}

// Adding the wait to a point in time must not overflow.
BOOST_AUTO_TEST_CASE(wait_is_bounded_for_extreme_policies) {
  using std::chrono::milliseconds;
  const auto wait = [](double factor, milliseconds first, milliseconds longest) {
    auto p = retry_policy{};
    p.backoff_factor = factor;
    p.initial_interval = first;
    p.max_interval = longest;
    p.jitter = false;
    return wait_after(p, 5, 0);
  };
  constexpr auto none = milliseconds{0};
  constexpr auto second = milliseconds{1'000};
  constexpr auto minute = milliseconds{60'000};
  BOOST_TEST((wait(std::nan(""), second, minute) == minute));
  BOOST_TEST((wait(std::numeric_limits<double>::infinity(), second, minute) == minute));
  BOOST_TEST((wait(2, -second, minute) == none));
  BOOST_TEST((wait(2, second, -minute) == none));
  BOOST_TEST((wait(1e300, milliseconds::max(), milliseconds::max()) < std::chrono::years{200}));
  BOOST_TEST((wait(1e300, milliseconds::max(), milliseconds::max()) > std::chrono::years{50}));
}

BOOST_AUTO_TEST_SUITE_END()
