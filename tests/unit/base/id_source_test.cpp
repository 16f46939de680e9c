// SPDX-License-Identifier: Apache-2.0
// The texts of ids: those of named, nested and unnamed runs.
#include <superstep/base/clock.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

using superstep::id_source;

BOOST_AUTO_TEST_SUITE(id_sources)

BOOST_AUTO_TEST_CASE(id_names_run_step_and_count) {
  auto ids = id_source{"run"};
  ids.begin_step(-1); // the step of an input
  BOOST_TEST(ids.next() == "run--1-0");
  ids.begin_step(12);
  BOOST_TEST(ids.next() == "run-12-0");
  BOOST_TEST(ids.next() == "run-12-1");
  for (auto i = 2; i < 10; ++i)
    static_cast<void>(ids.next());
  BOOST_TEST(ids.next() == "run-12-10");
  ids.begin_step(std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(ids.next() == "run-9223372036854775807-0");
}

BOOST_AUTO_TEST_CASE(id_of_nested_run_contains_its_namespace) {
  auto named = id_source{"run", "child:0"};
  BOOST_TEST(named.next() == "run/child:0-0-0");
  auto unnamed = id_source{"", "child:0", 77};
  const auto id = unnamed.next();
  const auto key_end = id.find("/child:0-0-0");
  BOOST_REQUIRE(key_end != std::string::npos);
  auto same_run = id_source{"", {}, 77};
  BOOST_TEST(same_run.next() == id.substr(0, key_end) + "-0-0");
}

BOOST_AUTO_TEST_CASE(ids_of_unnamed_runs_differ) {
  auto seen = std::set<std::string>{};
  for (auto run = 0; run < 3'000; ++run) {
    auto ids = id_source{""};
    for (auto step = 0; step < 3; ++step) {
      ids.begin_step(step);
      for (auto n = 0; n < 40; ++n)
        BOOST_REQUIRE(seen.insert(ids.next()).second);
    }
  }
}

BOOST_AUTO_TEST_CASE(id_of_unnamed_run_has_no_other_characters) {
  for (const auto number : {std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{32},
                            std::numeric_limits<std::uint64_t>::max()}) {
    auto ids = id_source{"", {}, number};
    ids.begin_step(std::numeric_limits<std::int64_t>::max());
    const auto id = ids.next();
    BOOST_TEST(
        std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; }));
    BOOST_TEST(std::ranges::count(id, '-') == 2);
    BOOST_TEST(ids.number() == number);
  }
}

BOOST_AUTO_TEST_SUITE_END()
