// SPDX-License-Identifier: Apache-2.0
// What a process may use of limits that several processes share.
#include "postgres/granted_limits.hpp"

#include <boost/test/unit_test.hpp>

using namespace superstep;
using namespace std::chrono_literals;
using detail::granted_limits;
using detail::limit_amounts;

namespace {

constexpr auto start = granted_limits::time_point{1h};
constexpr auto never = granted_limits::time_point::max();

void check_equal(const limit_amounts& found, const limit_amounts& expected) {
  BOOST_TEST(found == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_CASE(grants_are_asked_for_while_requests_wait) {
  auto limits = granted_limits{{600, 60'000}, 1min};
  BOOST_TEST((limits.next_ask() == never));
  BOOST_TEST(!limits.take(100, start));
  BOOST_TEST((limits.next_ask() <= start));
  const auto first = limits.ask(start);
  check_equal(first.need, {1, 100});
  BOOST_TEST(first.want[0] > 600); // as much as its share
  BOOST_TEST((limits.next_ask() == never));
  limits.granted({2, 250}, start + 10ms);
  BOOST_TEST(limits.take(100, start + 10ms));
  BOOST_TEST(limits.take(100, start + 20ms));
  BOOST_TEST(!limits.take(100, start + 30ms)); // no request is left
  BOOST_TEST((limits.next_ask() == start + 250ms));
  const auto second = limits.ask(start + 500ms);
  check_equal(second.need, {1, 100});
  check_equal(second.back, {0, 0}); // the 50 tokens may still be used
  // The request waits until it is admitted, or has not tried for two seconds.
  limits.granted({0, 0}, start + 510ms);
  check_equal(limits.ask(start + 1s).need, {1, 100});
  limits.granted({0, 0}, start + 1s);
  const auto later = limits.ask(start + 3s);
  check_equal(later.need, {0, 0});
  check_equal(later.want, {0, 0});
}

BOOST_AUTO_TEST_CASE(grants_expire_a_second_after_their_request) {
  auto limits = granted_limits{{600, 0}, 1min};
  BOOST_TEST(!limits.take(0, start));
  static_cast<void>(limits.ask(start));
  limits.granted({3, 0}, start + 400ms);
  BOOST_TEST(limits.take(0, start + 999ms));
  BOOST_TEST(!limits.take(0, start + 1s));
  check_equal(limits.ask(start + 1s).back, {2, 0});
  // An answer that arrives after the end of its grant is given back as a whole.
  limits.granted({4, 0}, start + 2s);
  BOOST_TEST(!limits.take(0, start + 2s));
  check_equal(limits.ask(start + 2s).back, {4, 0});
}

BOOST_AUTO_TEST_CASE(process_without_requests_leaves) {
  auto limits = granted_limits{{600, 0}, 1min};
  BOOST_TEST(!limits.take(0, start));
  static_cast<void>(limits.ask(start));
  limits.granted({5, 0}, start);
  BOOST_TEST(limits.take(0, start));
  const auto second = limits.ask(start + 500ms);
  check_equal(second.want, {0, 0}); // 2 per second were used, and 4 are left
  limits.granted({0, 0}, start + 500ms);
  BOOST_TEST((limits.next_ask() == start + 750ms));
  check_equal(limits.ask(start + 1s).back, {4, 0});
  limits.granted({0, 0}, start + 1s);
  BOOST_TEST((limits.next_ask() == never));
}

BOOST_AUTO_TEST_CASE(rate_of_last_second_is_wanted_again) {
  auto limits = granted_limits{{6'000, 0}, 1min};
  BOOST_TEST(!limits.take(0, start));
  static_cast<void>(limits.ask(start));
  limits.granted({40, 0}, start);
  for (auto i = 0; i < 40; ++i)
    BOOST_TEST(limits.take(0, start + 100ms));
  check_equal(limits.ask(start + 500ms).want, {100, 0});
}

BOOST_AUTO_TEST_CASE(large_requests_owe_what_exceeds_half_of_limit) {
  auto limits = granted_limits{{0, 1'000}, 1min};
  BOOST_TEST(!limits.take(800, start));
  check_equal(limits.ask(start).need, {0, 500});
  limits.granted({0, 520}, start);
  BOOST_TEST(limits.take(800, start));
  check_equal(limits.ask(start + 500ms).back, {0, -280});
}

BOOST_AUTO_TEST_CASE(tokens_that_were_not_used_are_given_back) {
  auto limits = granted_limits{{0, 1'000}, 1min};
  BOOST_TEST(!limits.take(100, start));
  static_cast<void>(limits.ask(start));
  limits.granted({0, 100}, start);
  BOOST_TEST(limits.take(100, start));
  limits.give_back({1, 60}); // there is no limit of requests
  check_equal(limits.ask(start + 500ms).back, {0, 60});
}

BOOST_AUTO_TEST_CASE(unknown_outcome_repeats_debts_only) {
  auto limits = granted_limits{{100, 1'000}, 1min};
  BOOST_TEST(!limits.take(100, start));
  limits.give_back({3, -40});
  check_equal(limits.ask(start).back, {3, -40});
  limits.failed(start + 1s);
  check_equal(limits.ask(start + 1s).back, {0, -40});
}

BOOST_AUTO_TEST_CASE(process_that_ends_gives_all_back) {
  auto limits = granted_limits{{100, 0}, 1min};
  BOOST_TEST(!limits.take(0, start));
  static_cast<void>(limits.ask(start));
  limits.granted({7, 0}, start);
  const auto last = limits.leave();
  check_equal(last.back, {7, 0});
  check_equal(last.want, {0, 0});
}
