// SPDX-License-Identifier: Apache-2.0
// The barrier channel of joins: arrivals, consumption and more than 64 members.
#include <superstep/channels/detail/named_barrier_value.hpp>

#include <boost/test/unit_test.hpp>

using superstep::changed;
using superstep::named_barrier_value;

BOOST_AUTO_TEST_SUITE(named_barrier)

BOOST_AUTO_TEST_CASE(barrier_opens_when_all_members_have_arrived) {
  auto b = named_barrier_value{3};
  BOOST_CHECK(b.arrive(2) == changed::yes);
  BOOST_CHECK(b.arrive(0) == changed::yes);
  BOOST_TEST(!b.is_available());
  BOOST_CHECK(b.arrive(1) == changed::yes);
  BOOST_TEST(b.is_available());
}

BOOST_AUTO_TEST_CASE(repeated_arrival_of_member_counts_once) {
  auto b = named_barrier_value{2};
  BOOST_CHECK(b.arrive(0) == changed::yes);
  BOOST_CHECK(b.arrive(0) == changed::no);
  BOOST_TEST(!b.is_available());
}

BOOST_AUTO_TEST_CASE(consume_resets_only_a_complete_barrier) {
  auto b = named_barrier_value{2};
  static_cast<void>(b.arrive(0));
  BOOST_CHECK(b.consume() == changed::no); // incomplete: unchanged
  static_cast<void>(b.arrive(1));
  BOOST_CHECK(b.consume() == changed::yes);
  BOOST_TEST(!b.is_available());
  BOOST_CHECK(b.consume() == changed::no);
  BOOST_CHECK(b.arrive(1) == changed::yes);
  BOOST_CHECK(b.arrive(0) == changed::yes);
  BOOST_TEST(b.is_available());
}

BOOST_AUTO_TEST_CASE(barrier_of_130_members_opens_after_last_arrival) {
  auto b = named_barrier_value{130};
  for (auto i = std::uint32_t{0}; i < 130; ++i) {
    BOOST_TEST(!b.is_available());
    BOOST_CHECK(b.arrive(129 - i) == changed::yes);
  }
  BOOST_TEST(b.is_available());
  b.reset();
  BOOST_TEST(!b.is_available());
  BOOST_CHECK(b.arrive(64) == changed::yes);
}

BOOST_AUTO_TEST_SUITE_END()
