// SPDX-License-Identifier: Apache-2.0
// Streams the messages and updates of a run, puts one graph into another, and cancels a run.
#include <superstep/superstep.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <variant>

namespace ss = superstep;
using namespace std::chrono_literals;

/// One function for each kind of event to show. The last one takes all others.
struct printer_t {
  void operator()(const ss::message_event& e) const {
    if (const auto* piece = e.get_if<ss::message_chunk>())
      std::cout << ss::text_of(piece->part);
  }
  void operator()(const ss::update_event& e) const { std::cout << " (" << e.node << ") "; }
  void operator()(const auto&) const {}
};

ss::task<ss::update<ss::messages_state>> tell(ss::messages_state, ss::runtime rt) {
  for (const auto* word : {"Once", " upon", " a time"}) {
    auto piece = ss::message_chunk{};
    piece.part = ss::ai_message(word);
    rt.emit_message(ss::value{piece});
  }
  co_return ss::set<&ss::messages_state::messages>({ss::ai_message("Once upon a time")});
}

int main() {
  auto g = ss::graph<ss::messages_state>{};
  g.add("tell", tell).edge(ss::start, "tell");
  const auto agent = g.compile();

  auto engine = ss::engine{};
  const auto printer = printer_t{};
  for (const auto& event : engine.stream(agent, "Tell me a story.",
                                         ss::stream_mode::messages | ss::stream_mode::updates))
    std::visit(printer, event);

  auto team = ss::graph<ss::messages_state>{};
  team.add("research", agent).edge(ss::start, "research"); // same state: a graph is a node
  std::cout << engine.invoke(team.compile(), "Hello").state.messages.size();

  auto ended = std::promise<ss::run_status>{};
  auto run = engine.submit(agent, "Hello", {.deadline = 30s},
                           [&](auto result) { ended.set_value(result.status); });
  run.cancel();
  std::cout << (ended.get_future().get() == ss::run_status::interrupted ? " stopped" : " over")
            << '\n';
}
