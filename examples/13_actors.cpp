// SPDX-License-Identifier: Apache-2.0
// A program of CAF actors. A typed actor is the tool of an agent. The agent and an order process
// are actors that answer requests. A clerk writes into a channel of an order that waits for it. The
// customer monitors the other actors.
#include "model.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/interop/actor_client.hpp>
#include <superstep/interop/graph_actor.hpp>
#include <superstep/superstep.hpp>

#include <caf/all.hpp>

#include <iostream>
#include <string>

namespace ss = superstep;

struct city_args {
  std::string city;
};
BOOST_DESCRIBE_STRUCT(city_args, (), (city))
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(city_args) // all actors are in this process

struct order {
  std::string item{};
  bool approved = false;
  std::string answer{};
};
BOOST_DESCRIBE_STRUCT(order, (), (item, approved, answer))

constexpr auto rules = R"(rules:
  - {type: human, match: 'to (\w+)', calls: [{name: weather, args: {city: '\1'}}]}
  - {type: tool, match: '(.+)', text: 'Have a good trip! \1'}
)";

using weather_actor = caf::typed_actor<caf::replies_to<city_args>::with<std::string>>;

weather_actor::behavior_type weather(const std::string& sky) {
  return {[sky](const city_args& args) { return "It is " + sky + " in " + args.city + '.'; }};
}

// Receives the coordinator of each order, and writes its decision into a channel of the run.
caf::behavior clerk(caf::event_based_actor* self, int limit) {
  return {[self, limit](const caf::actor& run, const std::string& item) {
    const auto is_small = static_cast<int>(item.size()) <= limit;
    self->send(run, ss::write_of<&order::approved>(is_small));
  }};
}

ss::compiled_graph<order> order_process(const caf::actor& clerk_handle) {
  auto g = ss::graph<order>{};
  g.add("ask", [clerk_handle](const order& o, ss::runtime rt) -> ss::task<void> {
    caf::anon_send(clerk_handle, ss::coordinator(rt), o.item);
    auto waiting = ss::next_write<bool>(rt, "approved"); // waits without a thread
    co_await waiting;
  });
  g.add("decide", [](const order& o) {
    return ss::set<&order::answer>(o.item + (o.approved ? ": approved" : ": refused"));
  });
  g.edge(ss::start, "ask").edge("ask", "decide");
  return g.compile();
}

caf::behavior customer(caf::event_based_actor* self, const caf::actor& agent,
                       const caf::actor& orders) {
  self->monitor(orders);
  self->set_down_handler([=](const caf::down_msg&) {
    std::cout << "the order process has ended\n";
    self->quit();
  });
  const auto failed = [](const caf::error& e) {
    std::cout << "failed: " << ss::text_of(e) << '\n';
  };
  const auto buy = [=](const std::string& item, auto then) {
    self->request(orders, caf::infinite, ss::graph_call<order>{order{.item = item}})
        .then(
            [then](const ss::run_result<order>& result) {
              std::cout << result.state.answer << '\n';
              then();
            },
            failed);
  };
  const auto leave = [=] { self->send_exit(orders, caf::exit_reason::user_shutdown); };
  self->request(agent, caf::infinite, ss::graph_call<ss::messages_state>{"I travel to Rome."})
      .then(
          [=](const ss::run_result<ss::messages_state>& result) {
            std::cout << ss::text_of(result.state.messages.back()) << '\n';
            buy("map", [=] { buy("large yacht", leave); });
          },
          failed);
  return {[](int) {}};
}

int main() {
  auto config = caf::actor_system_config{};
  auto system = caf::actor_system{config}; // waits at its end until the actors have ended
  auto engine = ss::engine{};              // destroyed before the system

  const auto agent = ss::create_agent(
      {.model = model_or_script(rules),
       .tools = {ss::tool_actor<city_args>("weather", "The current weather in a city.",
                                           system.spawn(weather, std::string{"sunny"}))}});
  const auto orders = ss::spawn_graph(system, engine, order_process(system.spawn(clerk, 5)));
  const auto person = system.spawn(customer, ss::spawn_graph(system, engine, agent), orders);
  caf::scoped_actor {
    system
  } -> wait_for(person);
}
