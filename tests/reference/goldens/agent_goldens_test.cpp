// SPDX-License-Identifier: Apache-2.0
// Runs the recorded cases of agents in agent_cases/ and compares the answers. The number of
// agreeing cases may only grow.
#include "goldens/cases.hpp"
#include "graph_cases/case_file.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

namespace agent_goldens_test {

namespace {

using namespace superstep;

constexpr auto agreeing_min = std::size_t{330};

/// Compares values. The cases contain no floating-point numbers, so no tolerance is needed.
bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number())
    return a.to_number<std::int64_t>() == b.to_number<std::int64_t>();
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.get_array(), b.get_array(), same);
  if (!a.is_object() || !b.is_object())
    return a == b;
  return a.get_object().size() == b.get_object().size() &&
         std::ranges::all_of(a.get_object(), [&](const auto& member) {
           const auto* other = b.get_object().if_contains(member.key());
           return other != nullptr && same(member.value(), *other);
         });
}

} // namespace

BOOST_AUTO_TEST_CASE(agents_reproduce_the_recorded_outputs) {
  auto table = conformance::case_table{};
  conformance::add_agent_cases(table);
  conformance::add_agent_graph_cases(table);
  auto agreeing = std::size_t{0};
  graph_cases::for_each_case([&](const json::object& c) {
    const auto got = table.at(std::string{c.at("kind").as_string()})(c.at("input").as_object());
    const auto is_right = same(c.at("output"), got);
    BOOST_TEST(is_right, c.at("id") << "\n  want " << c.at("output") << "\n  got  " << got);
    agreeing += is_right ? 1 : 0;
  });
  BOOST_TEST(agreeing >= agreeing_min);
}

} // namespace agent_goldens_test
