// SPDX-License-Identifier: Apache-2.0
// The cost of an activation in place against that of an activation by a CAF message: the same graph
// with a plain function and with a CAF actor as the body of its node.
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/interop/actor_client.hpp>

#include <boost/describe/class.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <functional>
#include <string>

namespace superstep::bench {

struct tally {
  std::int64_t n = 0;
  std::int64_t total = 0;
  using reducers = superstep::reducers<by<&tally::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(tally, (), (n, total))

namespace {

constexpr auto step_node = node<tally>{"step"};
constexpr auto split_node = node<tally>{"split"};
constexpr auto send_node = node<std::int64_t>{"one"};

/// An actor that answers a number with the next one.
class counting_actor final : public caf::event_based_actor {
public:
  explicit counting_actor(caf::actor_config& config) : caf::event_based_actor{config} {}
  caf::behavior make_behavior() override {
    return {[](std::int64_t n) { return n + 1; }};
  }
};

/// Builds a loop of `steps` super-steps with one task each.
template <class Body>
compiled_graph<tally> make_loop_of(std::int64_t steps, Body body) {
  auto g = graph<tally>{};
  g.add(step_node, std::move(body)).edge(start, step_node);
  g.branch(step_node, [steps](const tally& s) {
    return s.n < steps ? destination{step_node} : destination{end};
  });
  return g.compile({.name = "actor-loop"});
}

/// Builds one super-step with a Send for each of `sends` tasks.
template <class Body>
compiled_graph<tally> make_sends_of(std::int64_t sends, Body body) {
  auto g = graph<tally>{};
  g.add(split_node, [](const tally&) {}).add(send_node, std::move(body)).edge(start, split_node);
  g.branch(split_node, [sends](const tally&) {
    auto all = destinations{};
    for (auto i = std::int64_t{0}; i < sends; ++i)
      all.emplace_back(send_node, i);
    return all;
  });
  return g.compile({.name = "actor-sends"});
}

} // namespace

report actor_nodes(parameters& p) {
  const auto tasks = p.integer("N", 1'000, {.min = 1, .max = 100'000});
  const auto how = p.choice("how", {"place", "message"});
  const auto shape = p.choice("shape", {"loop", "sends"});
  const auto options = p.engine();
  const auto repetitions = p.repetitions();
  p.done();
  auto config = caf::actor_system_config{};
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("logger.console", caf::atom("none"));
  auto system = caf::actor_system{config};
  const auto handle = system.spawn<counting_actor>();
  const auto count_up = [](std::int64_t n) { return update{set<&tally::n>(n)}; };
  const auto add_up = [](std::int64_t n) { return update{set<&tally::total>(n)}; };
  const auto compiled = [&] {
    if (shape == "loop")
      return how == "place"
                 ? make_loop_of(tasks, [=](const tally& s) { return count_up(s.n + 1); })
                 : make_loop_of(tasks, node_actor(
                                           handle, [](const tally& s) { return s.n; }, count_up));
    return how == "place"
               ? make_sends_of(tasks, [=](const std::int64_t& i) { return add_up(i + 1); })
               : make_sends_of(tasks, node_actor(
                                          handle, [](const std::int64_t& i) { return i; }, add_up));
  }();
  auto out = report{.unit = "activation", .units = static_cast<double>(tasks)};
  {
    auto e = engine{options};
    auto runs = series<tally>{e, compiled, {}, steps_max(tasks)};
    static_cast<void>(runs.run(1));
    const auto expected = shape == "loop" ? tasks : tasks * (tasks + 1) / 2;
    out.time = measure(repetitions, [&] {
      auto last = runs.run(1);
      const auto got = shape == "loop" ? last.state.n : last.state.total;
      expect(got == expected, "the result is " + std::to_string(got));
      return last;
    });
    out.checks = {{"result", expected}};
  }
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  return out;
}

} // namespace superstep::bench
