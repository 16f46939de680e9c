// SPDX-License-Identifier: Apache-2.0
#include <superstep/models/model_limits.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(an_overload_halves_the_calls_in_flight_once_and_good_answers_raise_them) {
  auto options = model_limits_options{};
  options.model_calls = 16;
  auto limits = model_limits{options};
  const auto t = model_limits::time_point{1h};
  limits.answered();
  BOOST_TEST(limits.calls().limit() == 16u);
  limits.overloaded(t, t + 10ms);
  BOOST_TEST(limits.calls().limit() == 8u);
  limits.overloaded(t + 5ms, t + 20ms); // had been under way already
  BOOST_TEST(limits.calls().limit() == 8u);
  for (auto i = 0; i < 8; ++i)
    limits.answered();
  BOOST_TEST(limits.calls().limit() == 9u);
  for (auto i = 0; i < 1000; ++i)
    limits.answered();
  BOOST_TEST(limits.calls().limit() == 16u);
  for (auto i = 1; i < 20; ++i)
    limits.overloaded(t + i * 1s, t + i * 1s + 1ms);
  BOOST_TEST(limits.calls().limit() == 1u);
}

BOOST_AUTO_TEST_CASE(a_fixed_number_stays_as_it_is) {
  auto options = model_limits_options{};
  options.model_calls = 16;
  options.is_adaptive = false;
  auto limits = model_limits{options};
  limits.overloaded(model_limits::time_point{1h}, model_limits::time_point{2h});
  BOOST_TEST(limits.calls().limit() == 16u);
}
