// SPDX-License-Identifier: Apache-2.0
// The histogram of row durations: precision and range.
#include <superstep/batch/batch.hpp>

#include <boost/test/unit_test.hpp>

using std::chrono::nanoseconds;

BOOST_AUTO_TEST_SUITE(histogram)

BOOST_AUTO_TEST_CASE(percentiles_deviate_by_at_most_a_sixteenth) {
  auto times = superstep::histogram{};
  for (auto i = 1; i <= 100'000; ++i)
    times.add(nanoseconds{i * 1000});
  BOOST_TEST(times.count() == 100'000U);
  for (auto share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    auto exact = share * 1e8;
    auto found = static_cast<double>(times.percentile(share).count());
    BOOST_TEST(found <= exact * 1.001, share);
    BOOST_TEST(found >= exact * 0.93, share);
  }
}

BOOST_AUTO_TEST_CASE(negative_duration_becomes_zero_and_maximum_is_kept) {
  auto times = superstep::histogram{};
  BOOST_TEST(times.percentile(0.5).count() == 0);
  times.add(nanoseconds{-5});
  BOOST_TEST(times.percentile(1).count() == 0);
  times.add(nanoseconds{3});
  BOOST_TEST(times.percentile(1).count() == 3);
  times.add(nanoseconds::max());
  BOOST_TEST(static_cast<double>(times.percentile(1).count()) > 8.6e18);
}

BOOST_AUTO_TEST_SUITE_END()
