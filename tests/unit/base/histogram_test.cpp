// SPDX-License-Identifier: Apache-2.0
// The histogram of durations: precision, resolution and range.
#include <superstep/base/distribution.hpp>

#include <boost/test/unit_test.hpp>

using std::chrono::microseconds;
using std::chrono::nanoseconds;

BOOST_AUTO_TEST_SUITE(histogram)

BOOST_AUTO_TEST_CASE(percentiles_deviate_by_at_most_three_percent) {
  auto times = superstep::histogram{};
  for (auto i = 1; i <= 100'000; ++i)
    times.add(microseconds{i});
  BOOST_TEST(times.count() == 100'000U);
  for (auto share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    auto exact = share * 1e8;
    auto found = static_cast<double>(times.percentile(share).count());
    BOOST_TEST(found <= exact * 1.001, share);
    BOOST_TEST(found >= exact * 0.97, share);
  }
}

BOOST_AUTO_TEST_CASE(durations_are_rounded_down_to_microseconds) {
  auto times = superstep::histogram{};
  times.add(nanoseconds{1'999});
  BOOST_TEST(times.percentile(1).count() == 1'000);
  BOOST_TEST(times.in_microseconds().max() == 1U);
  times.add(nanoseconds{999});
  BOOST_TEST(times.percentile(0.5).count() == 0);
}

BOOST_AUTO_TEST_CASE(negative_duration_becomes_zero_and_maximum_is_kept) {
  auto times = superstep::histogram{};
  BOOST_TEST(times.percentile(0.5).count() == 0);
  times.add(microseconds{-5});
  BOOST_TEST(times.percentile(1).count() == 0);
  times.add(microseconds{3});
  BOOST_TEST(times.percentile(1).count() == 3'000);
  times.add(nanoseconds::max());
  BOOST_TEST(static_cast<double>(times.percentile(1).count()) > 8.9e18);
}

BOOST_AUTO_TEST_SUITE_END()
