// SPDX-License-Identifier: Apache-2.0
// Distributions: percentiles, exact extremes, and bars that cover all values.
#include <superstep/base/distribution.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace superstep {

BOOST_AUTO_TEST_SUITE(distributions)

BOOST_AUTO_TEST_CASE(percentiles_are_close_to_exact_values) {
  auto values = distribution{};
  for (auto i = std::uint64_t{1}; i <= 10'000; ++i)
    values.add(i);
  for (const auto share : {0.01, 0.25, 0.5, 0.95, 0.99, 1.0}) {
    const auto exact = 10'000 * share;
    const auto got = static_cast<double>(values.percentile(share));
    BOOST_TEST((got <= exact + 1 && got >= exact * 0.97 - 1), share << ": " << got);
  }
  BOOST_TEST(values.min() == 1U);
  BOOST_TEST(values.max() == 10'000U);
  BOOST_TEST(values.mean() == 5000.5);
}

BOOST_AUTO_TEST_CASE(empty_distribution_has_zeros_and_no_bars) {
  const auto values = distribution{};
  BOOST_TEST(values.percentile(0.5) == 0U);
  BOOST_TEST(values.min() == 0U);
  BOOST_TEST(values.mean() == 0.0);
  BOOST_TEST(values.bars(10).empty());
}

BOOST_AUTO_TEST_CASE(bars_contain_each_value_once) {
  for (const auto& all : {std::initializer_list<std::uint64_t>{0},
                          {7},
                          {0, 1, 2, 3, 1000, 1'000'000},
                          {std::numeric_limits<std::uint64_t>::max(), 5},
                          {9, 10, 11, 12, 13, 14, 15, 16, 17}}) {
    auto values = distribution{};
    for (const auto value : all)
      values.add(value);
    for (const auto most : {1U, 3U, 48U}) {
      const auto bars = values.bars(most);
      auto sum = std::uint64_t{0};
      for (const auto& bar : bars) {
        BOOST_TEST(bar.from < bar.to);
        sum += bar.count;
      }
      BOOST_TEST(sum == all.size());
      BOOST_TEST(bars.size() <= most);
      BOOST_TEST(bars.front().from <= *all.begin());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep
