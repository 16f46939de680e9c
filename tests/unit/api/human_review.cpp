// SPDX-License-Identifier: Apache-2.0
// Human review across two processes: the first run asks, the second one resumes the thread.
#include <superstep/superstep.hpp>

#include <iostream>
#include <string>

namespace ss = superstep;

struct order {
  int amount = 0;
  std::string status{};
};
BOOST_DESCRIBE_STRUCT(order, (), (amount, status))

ss::task<ss::update<order>> review(order o, ss::runtime rt) {
  auto question = rt.interrupt({{"question", "Approve this order?"}, {"amount", o.amount}});
  auto answer = co_await question;
  co_return ss::set<&order::status>(answer == "yes" ? "approved" : "rejected");
}

int main(int argc, char**) {
  auto g = ss::graph<order>{};
  g.add("review", review).edge(ss::start, "review").edge("review", ss::end);
  auto graph = g.compile({.checkpointer = ss::sqlite_checkpointer("orders.db")});

  auto engine = ss::engine{};
  auto config = ss::run_config{.thread_id = "order-17"};
  auto result = argc == 1 ? engine.invoke(graph, order{.amount = 250}, config)
                          : engine.invoke(graph, ss::resume("yes"), config);
  for (const auto& pending : result.interrupts)
    std::cout << pending.value << '\n';
  std::cout << result.state.status << '\n';
}
