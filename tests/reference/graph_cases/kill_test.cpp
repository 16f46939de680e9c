// SPDX-License-Identifier: Apache-2.0
// A recorded case whose process dies after any checkpoint, and which another process resumes, ends
// as if it was not disturbed: same results, states, histories and events.
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

/// Returns n if every n-th case is killed. 1 kills all cases, which takes minutes.
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

/// Whether a subgraph keeps its state between calls. When a process resumes, such a subgraph also
/// resumes in the first step and ignores its input, whether or not it had started before (the
/// recorded cases require that).
bool has_lasting_subgraph(const json::object& test_case) {
  return std::ranges::any_of(test_case.at("graphs").as_object(), [](const auto& graph) {
    const auto* keeps = graph.value().as_object().if_contains("checkpointer");
    return keeps != nullptr && *keeps == true;
  });
}

/// Whether the graph cannot be built or needs a missing feature.
bool has_no_runs(const json::array& trace) {
  return graph_cases::is_unsupported(trace) ||
         to_text(trace).find("\"build_error\"") != std::string::npos;
}

/// Whether the result after a kill can be compared. A stop at a breakpoint looks like a kill to the
/// resumed run. With durability `exit` everything is lost with the process. The step limit counts
/// from the start of a process. Untracked values are not stored.
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

/// Removes the counts of program starts.
json::array plain(json::array trace) {
  for (auto& call : trace)
    if (auto* members = call.if_object())
      members->erase("execs");
  return trace;
}

} // namespace

BOOST_AUTO_TEST_CASE(run_resumed_after_any_kill_equals_undisturbed_run) {
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
