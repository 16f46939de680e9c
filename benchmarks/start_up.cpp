// SPDX-License-Identifier: Apache-2.0
// W12: a program that does almost nothing. The caller measures the time of the whole process.
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>

#include <boost/describe/class.hpp>

#include <string>

namespace superstep::bench {

struct one_number {
  std::int64_t n = 0;
};
BOOST_DESCRIBE_STRUCT(one_number, (), (n))

report start_up(parameters& p) {
  // The CPU time so far is that of loading the program.
  const auto loading = cpu_seconds();
  const auto wall = wall_seconds();
  const auto options = p.engine();
  p.done();
  constexpr auto add = node<one_number>{"add"};
  auto g = graph<one_number>{};
  g.add(add, [](const one_number& s) { return update{set<&one_number::n>(s.n + 1)}; });
  g.edge(start, add).edge(add, end);
  auto e = engine{options};
  const auto last = e.invoke(g.compile(), one_number{}).state;
  expect(last.n == 1, "n is " + std::to_string(last.n));
  auto out = report{.unit = "process"};
  out.time.add(wall_seconds() - wall, cpu_seconds() - loading);
  out.extra = {{"import_s", loading}, {"rss_kb", resident_bytes() / 1'024}};
  out.checks = {{"n", last.n}};
  return out;
}

} // namespace superstep::bench
