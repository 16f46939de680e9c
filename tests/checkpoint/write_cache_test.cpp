// SPDX-License-Identifier: Apache-2.0
#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace ss = superstep;
using namespace std::chrono_literals;

namespace {

ss::task_output going_to(std::uint32_t node) {
  auto out = ss::task_output{};
  out.targets = {node};
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(write_cache)

BOOST_AUTO_TEST_CASE(an_output_is_found_by_scope_and_key_and_the_latest_counts) {
  auto cache = ss::memory_cache{};
  cache.put("g/a", "1", going_to(1), {});
  cache.put("g/a", "1", going_to(2), {});
  BOOST_TEST(cache.find("g/a", "1")->targets.at(0) == 2U);
  BOOST_TEST(!cache.find("g/a", "2"));
  BOOST_TEST(!cache.find("g/b", "1"));
}

BOOST_AUTO_TEST_CASE(an_output_is_gone_when_its_time_is_over) {
  auto now = std::chrono::steady_clock::time_point{};
  auto cache = ss::memory_cache{10, [&now] { return now; }};
  cache.put("s", "k", going_to(1), 5ms);
  now += 4ms;
  BOOST_TEST(cache.find("s", "k").has_value());
  now += 1ms;
  BOOST_TEST(!cache.find("s", "k"));
}

BOOST_AUTO_TEST_CASE(the_oldest_outputs_make_room) {
  auto cache = ss::memory_cache{2};
  cache.put("s", "1", going_to(1), {});
  cache.put("s", "2", going_to(1), {});
  cache.put("s", "1", going_to(1), {}); // young again
  cache.put("s", "3", going_to(1), {});
  BOOST_TEST(cache.find("s", "1").has_value());
  BOOST_TEST(!cache.find("s", "2"));
}

BOOST_AUTO_TEST_CASE(one_scope_or_all_can_be_forgotten) {
  auto cache = ss::memory_cache{};
  cache.put("a", "1", going_to(1), {});
  cache.put("b", "1", going_to(1), {});
  cache.clear("a");
  BOOST_TEST(!cache.find("a", "1"));
  BOOST_TEST(cache.find("b", "1").has_value());
  cache.clear("");
  BOOST_TEST(!cache.find("b", "1"));
}

BOOST_AUTO_TEST_SUITE_END()
