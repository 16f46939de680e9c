// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A graph that writes every kind of row, for tests that interrupt a process at its writes.
namespace crash_test {

namespace ss = superstep;
namespace json = boost::json;

inline constexpr auto threads = 2;

inline ss::task<json::object> ask(json::value, ss::runtime rt) {
  auto asked = rt.interrupt("go on?");
  const auto answer = co_await asked;
  co_return json::object{{"log", json::array{answer}}};
}

inline auto says(const char* line) {
  return [line](const json::value&) { return json::object{{"log", json::array{line}}}; };
}

/// A graph with parallel nodes, a join, Sends, an interrupt, and a subgraph that also interrupts.
/// Each thread is run to its end twice: the second time in a branch that is forked from its start.
inline ss::compiled_json_graph make_graph(std::shared_ptr<ss::checkpointer> checkpointer) {
  auto inner = ss::json_graph{};
  inner.channel("log", "append");
  inner.add("one", says("inner one")).add("two", ask).add("three", says("inner three"));
  inner.edge("__start__", "one").edge("one", "two").edge("two", "three");
  auto g = ss::json_graph{};
  g.channel("log", "append").channel("total", "add");
  g.add("plan", says("plan")).add("left", says("left")).add("right", says("right"));
  g.add("work", [](const json::value& in) {
    return json::object{{"total", in.at("n")}, {"log", json::array{in.at("n")}}};
  });
  auto reading_log = ss::json_node_options{};
  reading_log.reads = {"log"};
  g.add("ask", ask).add("inner", inner.compile({.name = "inner"}), reading_log);
  g.edge("__start__", "plan").edge("plan", "left").edge("plan", "right");
  g.branch("plan", [](const json::value&) {
    auto to = std::vector<ss::json_target>{};
    for (auto n = 1; n <= 3; ++n)
      to.emplace_back("work", json::object{{"n", n}});
    return to;
  });
  g.join({"left", "right"}, "ask").edge("ask", "inner");
  auto options = ss::compile_options{};
  options.checkpointer = std::move(checkpointer);
  return g.compile(std::move(options));
}

inline ss::run_config config_for(const std::string& thread, ss::durability when) {
  auto config = ss::run_config{};
  config.thread_id = thread;
  config.thread.emplace().durability = when;
  return config;
}

/// Runs a thread to its end from its current state.
inline void finish(ss::engine& e, const ss::compiled_json_graph& g, const std::string& thread,
                   ss::durability when) {
  for (auto tries = 0; tries < 20; ++tries) {
    const auto at = ss::detail::get_state(ss::detail::program_of(g), {thread, {}, {}});
    if (at.checkpoint && at.tasks.empty())
      return; // not next.empty(): a task with saved writes is not in `next`
    const auto config = config_for(thread, when);
    const auto answer = at.interrupts().empty() ? ss::resume() : ss::resume("yes");
    const auto done =
        at.checkpoint ? e.try_invoke(g, answer, config) : e.try_invoke(g, {{"total", 1}}, config);
    if (done.error)
      throw std::runtime_error{done.error->text};
  }
  throw std::runtime_error{"thread '" + thread + "' does not finish"};
}

/// Repeats the run from the thread's first checkpoint in a new branch, unless that branch exists
/// already.
inline void fork(ss::engine& e, const ss::compiled_json_graph& g, const std::string& thread,
                 ss::durability when) {
  const auto all = ss::detail::state_history(ss::detail::program_of(g), {thread, {}, {}});
  for (const auto& s : all)
    if (s.checkpoint->source == ss::checkpoint_source::fork)
      return;
  auto config = config_for(thread, when);
  config.thread->checkpoint_id = all.back().checkpoint->id;
  const auto done = e.try_invoke(g, ss::resume(), config);
  if (done.error)
    throw std::runtime_error{done.error->text};
}

/// Returns the history of all threads, without the prefix of their ids.
inline std::string describe(const ss::compiled_json_graph& g, const std::string& prefix = {}) {
  auto out = std::string{};
  for (auto t = 0; t < threads; ++t) {
    const auto thread = "t" + std::to_string(t);
    for (const auto& s :
         ss::detail::state_history(ss::detail::program_of(g), {prefix + thread, {}, {}})) {
      auto next = json::array{};
      for (const auto& n : s.next)
        next.emplace_back(n);
      out += ss::to_text(json::object{{"thread", thread},
                                      {"id", s.checkpoint->id},
                                      {"parent", s.checkpoint->parent},
                                      {"step", s.checkpoint->step},
                                      {"source", ss::to_text(s.checkpoint->source)},
                                      {"next", next},
                                      {"state", ss::detail::adapter_of(g).state(*s.state)}}) +
             '\n';
    }
  }
  return out;
}

inline void work(const std::shared_ptr<ss::checkpointer>& checkpointer, ss::durability when,
                 const std::string& prefix = {}) {
  const auto g = make_graph(checkpointer);
  auto options = ss::engine_options{};
  options.workers = 1;
  auto e = ss::engine{options};
  for (auto t = 0; t < threads; ++t) {
    const auto thread = prefix + "t" + std::to_string(t);
    finish(e, g, thread, when);
    fork(e, g, thread, when);
    finish(e, g, thread, when);
  }
}

} // namespace crash_test
