// SPDX-License-Identifier: Apache-2.0
// Interrupt and resume across processes. The first process stops with a question and saves the
// thread. The second process gets the answer as its argument and resumes the thread.
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
  auto answer = co_await question; // the first process stops here, the second gets the answer
  co_return ss::set<&order::status>(answer == "yes" ? "approved" : "rejected");
}

int main(int argc, char** argv) {
  auto g = ss::graph<order>{};
  g.add("review", review).edge(ss::start, "review").edge("review", ss::end);
  auto graph = g.compile({.checkpointer = ss::sqlite_checkpointer("orders.db")});

  auto engine = ss::engine{};
  auto config = ss::run_config{.thread_id = "order-17"};
  auto result = argc == 1 ? engine.invoke(graph, order{.amount = 250}, config)
                          : engine.invoke(graph, ss::resume(argv[1]), config);
  for (const auto& pending : result.interrupts)
    std::cout << pending.value << '\n';
  if (result.interrupts.empty())
    std::cout << result.state.status << '\n';
}
