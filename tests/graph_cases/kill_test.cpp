// SPDX-License-Identifier: Apache-2.0
// A recorded case ends as it does undisturbed when its process dies after any checkpoint and
// another one goes on: same results, same states and histories, the same events in all.
#include "graph_cases/case_file.hpp"
#include "graph_cases/case_run.hpp"
#include "graph_cases/trace_judge.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

namespace {

using namespace superstep;

/// Of the cases, every so many-th is killed; 1: all of them, which takes minutes.
std::size_t stride() {
  const auto* text = std::getenv("SUPERSTEP_KILL_STRIDE");
  return text == nullptr ? 8 : std::stoul(text);
}

bool has_breakpoints(const json::value& v) {
  if (const auto* list = v.if_array())
    return std::ranges::any_of(*list, has_breakpoints);
  const auto* members = v.if_object();
  if (members == nullptr)
    return false;
  return std::ranges::any_of(*members, [](const auto& member) {
    return member.key().starts_with("interrupt_") || has_breakpoints(member.value());
  });
}

/// A subgraph that is to go on with what earlier calls left. In the first step of a process that
/// goes on, it goes on as well and does not look at its input, whether or not it had been begun
/// before (the recorded cases ask for that).
bool has_lasting_subgraph(const json::object& test_case) {
  return std::ranges::any_of(test_case.at("graphs").as_object(), [](const auto& graph) {
    const auto* keeps = graph.value().as_object().if_contains("checkpointer");
    return keeps != nullptr && *keeps == true;
  });
}

/// The graph cannot be built, or asks for what is not there yet.
bool has_no_runs(const json::array& trace) {
  return graph_cases::is_unsupported(trace) ||
         to_text(trace).find("\"build_error\"") != std::string::npos;
}

/// A stop at a breakpoint looks like a kill to whoever goes on. What is saved at the end alone is
/// lost with the process. A limit of steps counts from where a process began. All of that is as it
/// should be, and cannot be compared; neither can what is not kept.
bool can_be_killed(const json::object& record) {
  const auto& test_case = record.at("case").as_object();
  const auto text = to_text(test_case);
  for (const auto* unkept : {"\"exit\"", "\"untracked\"", "remaining_steps", "is_last_step"})
    if (text.find(unkept) != std::string::npos)
      return false;
  return !has_breakpoints(test_case) && !has_lasting_subgraph(test_case) &&
         to_text(record.at("expect")).find("\"recursion_limit\"") == std::string::npos;
}

bool is_run(const json::object& call) {
  return call.at("do") == "invoke" || call.at("do") == "stream";
}

/// Without what counts how often programs ran.
json::array plain(json::array trace) {
  for (auto& call : trace)
    if (auto* members = call.if_object())
      members->erase("execs");
  return trace;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_case_that_dies_after_any_checkpoint_ends_as_it_does_undisturbed) {
  auto e = engine{{.workers = 1}};
  auto cases = std::size_t{0};
  auto kills = std::size_t{0};
  auto number = std::size_t{0};
  graph_cases::for_each_case([&](const json::object& record) {
    if (number++ % stride() != 0 || !can_be_killed(record))
      return;
    auto test_case = record.at("case").as_object();
    test_case["checkpointer"] = true;
    const auto seed = std::optional<std::uint64_t>{number};
    const auto whole = graph_cases::run_case(test_case, e, seed);
    if (has_no_runs(whole))
      return;
    ++cases;
    for (auto call = std::size_t{0}; call < whole.size(); ++call) {
      if (!is_run(test_case.at("script").at(call).as_object()))
        continue;
      for (auto n = std::size_t{1};; ++n) {
        const auto killed = graph_cases::run_killed(test_case, e, seed, call, n);
        if (!killed)
          break;
        ++kills;
        const auto difference = graph_cases::first_difference(plain(whole), plain(*killed), false);
        BOOST_TEST(difference.empty(), record.at("id")
                                           << ", killed in call " << call << " with checkpoint "
                                           << n << ": " << difference);
      }
    }
  });
  BOOST_TEST_MESSAGE(cases << " cases, killed " << kills << " times");
  BOOST_TEST(kills > cases);
}
