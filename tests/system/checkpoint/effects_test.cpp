// SPDX-License-Identifier: Apache-2.0
// Tools whose process is killed after their effect and before the next checkpoint.
#include "checkpoint/version_1.hpp"
#include "effect_processes.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A named namespace, because g++ 12 warns about coroutine frames over types without linkage.
namespace effect_processes {

using namespace superstep;

/// A tool whose result is not valid UTF-8.
tool_ptr printing(const world& outside) {
  return make_tool<no_arguments>("send", "", [outside](const no_arguments&, const tool_context& c) {
    outside.change("send", c);
    return std::string{"caf\xe9"};
  });
}

tool_ptr failing(const world& outside) {
  return make_tool<no_arguments>(
      "send", "", [outside](const no_arguments&, const tool_context& c) -> std::string {
        outside.change("send", c);
        throw std::runtime_error{"refused"};
      });
}

tool_ptr asking(const world& outside) {
  return make_tool<no_arguments>(
      "ask", "", [outside](const no_arguments&, tool_context c) -> task<std::string> {
        auto question = c.environment->run->interrupt("may I?");
        const auto answer = co_await question;
        outside.change("ask", c);
        co_return std::string{answer.as_string()};
      });
}

/// A tool whose body is a plain function that interrupts. What the function returns before there is
/// an answer is discarded.
tool_ptr asking_plainly(const world& outside) {
  return make_tool<no_arguments>("ask", "", [outside](const no_arguments&, const tool_context& c) {
    const auto answer = c.environment->run->ask("may I?");
    if (!answer)
      return std::string{"nobody will read this"};
    outside.change("ask", c);
    return std::string{answer->as_string()};
  });
}

struct place {
  temporary_folder folder{};
  std::string path = folder.file();
  world outside{folder.file("effects")};

  std::string send(tool_ptr (*kind)(tool_ptr), death when) {
    return in_child([&] {
      return run(graph_of(path, {kind(sending(outside, when))}, {{"c1", "send", {}}}, when),
                 nullptr);
    });
  }
};

tool_ptr as_it_is(tool_ptr t) {
  return t;
}

/// A graph whose first run waits before its calls, until `other` has run.
compiled_json_graph taken_over_graph(const std::shared_ptr<superstep::checkpointer>& with,
                                     const world& outside, std::function<void()> other) {
  const auto node =
      std::make_shared<const tool_node>(tool_list{journaled(sending(outside, death::never))});
  auto g = json_graph{};
  g.channel("said", "append");
  g.add("tools", [node, other = std::move(other)](json::value, runtime rt) {
    if (other)
      other();
    return call_tools(node, {{"c1", "send", {}}}, death::never, std::move(rt));
  });
  g.edge("__start__", "tools");
  auto options = compile_options{};
  options.checkpointer = with;
  return g.compile(std::move(options));
}

} // namespace effect_processes

using namespace effect_processes;

BOOST_AUTO_TEST_SUITE(effects)

BOOST_AUTO_TEST_CASE(recorded_effect_is_not_repeated_after_a_kill) {
  for (auto* kind : {&journaled, &idempotent}) {
    auto p = place{};
    BOOST_TEST(p.send(kind, death::after_the_tools) == "killed");
    BOOST_TEST(p.outside.lines().size() == 1U);
    BOOST_TEST(p.send(kind, death::never) == "sent;after;");
    BOOST_TEST(p.outside.lines().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(journaled_call_killed_midway_is_reported_not_repeated) {
  auto p = place{};
  BOOST_TEST(p.send(&journaled, death::in_the_tool) == "killed");
  const auto said = p.send(&journaled, death::never);
  BOOST_TEST(said.starts_with("Error: the result of this call of tool 'send' is not known"), said);
  BOOST_TEST(said.ends_with(";after;"), said);
  BOOST_TEST(p.outside.lines().size() == 1U);
}

BOOST_AUTO_TEST_CASE(killed_idempotent_call_is_repeated_with_same_key) {
  auto p = place{};
  BOOST_TEST(p.send(&idempotent, death::in_the_tool) == "killed");
  BOOST_TEST(p.send(&idempotent, death::never) == "sent;after;");
  const auto lines = p.outside.lines();
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[0] == lines[1]);
}

BOOST_AUTO_TEST_CASE(unmarked_call_is_repeated_with_same_idempotency_key) {
  auto p = place{};
  BOOST_TEST(p.send(&as_it_is, death::after_the_tools) == "killed");
  BOOST_TEST(p.send(&as_it_is, death::never) == "sent;after;");
  const auto lines = p.outside.lines();
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[0] == lines[1]);
}

BOOST_AUTO_TEST_CASE(resume_after_interrupt_does_not_repeat_sibling_calls) {
  for (auto* ask : {&asking, &asking_plainly}) {
    auto p = place{};
    const auto go = [&](const char* answer) {
      return in_child([&] {
        auto tools =
            tool_list{journaled(sending(p.outside, death::never)), journaled(ask(p.outside))};
        auto calls = std::vector<tool_call>{{"c1", "send", {}}, {"c2", "ask", {}}};
        return run(graph_of(p.path, std::move(tools), std::move(calls), death::never), answer);
      });
    };
    BOOST_TEST(go(nullptr) == "asked");
    BOOST_TEST(p.outside.lines().size() == 1U);
    BOOST_TEST(go("yes") == "sent;yes;after;");
    BOOST_TEST(p.outside.lines().size() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(calls_with_equal_ids_have_separate_effect_records) {
  auto p = place{};
  const auto said = in_child([&] {
    auto calls = std::vector<tool_call>{{"c1", "send", {}}, {"c1", "send", {}}};
    return run(graph_of(p.path, {journaled(sending(p.outside, death::never))}, std::move(calls),
                        death::never),
               nullptr);
  });
  BOOST_TEST(said == "sent;sent;after;");
  const auto lines = p.outside.lines();
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[0] != lines[1]);
}

BOOST_AUTO_TEST_CASE(result_with_invalid_utf8_is_restored_after_kill) {
  for (auto* kind : {&journaled, &idempotent}) {
    auto p = place{};
    const auto send = [&](death when) {
      return in_child([&] {
        return run(graph_of(p.path, {kind(printing(p.outside))}, {{"c1", "send", {}}}, when),
                   nullptr);
      });
    };
    BOOST_TEST(send(death::after_the_tools) == "killed");
    BOOST_TEST(send(death::never) == "caf\xef\xbf\xbd;after;");
    BOOST_TEST(p.outside.lines().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(call_with_corrupt_effect_record_is_not_repeated) {
  auto p = place{};
  BOOST_TEST(p.send(&journaled, death::after_the_tools) == "killed");
  static_cast<void>(ask_sql(p.path, "UPDATE effects SET sum = sum + 1"));
  const auto said = p.send(&journaled, death::never);
  BOOST_TEST(said.starts_with("Error: this call of tool 'send' was made before"), said);
  BOOST_TEST(p.outside.lines().size() == 1U);
}

BOOST_AUTO_TEST_CASE(journaled_call_of_run_that_was_taken_over_is_not_made) {
  const auto in_memory = memory_checkpointer();
  for (const auto kind : {"memory", "one object", "two objects"}) {
    auto p = place{};
    const auto is_in_memory = kind == std::string_view{"memory"};
    const auto first = is_in_memory ? in_memory : sqlite_checkpointer(p.path);
    const auto second =
        kind == std::string_view{"two objects"} ? sqlite_checkpointer(p.path) : first;
    auto e = engine{engine_options{.workers = 2}};
    auto config = run_config{};
    config.thread_id = "t";
    config.thread.emplace().durability = durability::sync; // the other run loads the input
    auto has_failed = true;
    const auto take_over = [&] {
      auto other = config;
      other.thread->on_busy = busy_policy::take_over;
      const auto done = e.try_invoke(taken_over_graph(second, p.outside, {}), resume(), other);
      has_failed = done.error.has_value();
    };
    const auto done =
        e.try_invoke(taken_over_graph(first, p.outside, take_over), json::object{}, config);
    BOOST_TEST(!has_failed, kind);
    BOOST_TEST_REQUIRE(done.error.has_value(), kind);
    BOOST_TEST((done.error->code == checkpoint_errc::conflict), done.error->text);
    BOOST_TEST(p.outside.lines().size() == 1U, kind);
  }
}

BOOST_AUTO_TEST_CASE(journaled_call_that_threw_is_repeated) {
  auto p = place{};
  for (auto i = 1U; i <= 2; ++i) {
    const auto said = in_child([&] {
      return run(graph_of(p.path, {journaled(failing(p.outside))}, {{"c1", "send", {}}},
                          death::after_the_tools),
                 nullptr);
    });
    BOOST_TEST(p.outside.lines().size() == i, said);
  }
}

BOOST_AUTO_TEST_SUITE_END()
