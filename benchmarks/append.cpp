// SPDX-License-Identifier: Apache-2.0
// One node that appends a message in a loop: shows whether a step costs more as the history grows.
#include "series.hpp"
#include "workloads.hpp"

#include <superstep/messages/messages.hpp>

#include <boost/describe/class.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace superstep::bench {

struct history {
  message_list messages;
  using reducers = superstep::reducers<by<&history::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(history, (), (messages))

namespace {

constexpr auto node_name = node<history>{"append"};

/// Sums the CPU time of the last tenth of each run. The node itself reads the clock.
class last_tenth {
public:
  explicit last_tenth(std::size_t steps)
      : from_{steps - 1 - std::max(steps / 10, std::size_t{1})}, to_{steps - 1} {
    for (auto i = 0; i < 1'000; ++i) {
      const auto begin = cpu_seconds();
      own_ = std::min(own_, cpu_seconds() - begin);
    }
  }

  /// Called by the node at its start; `messages` is the number of messages in the state.
  void enter(std::size_t messages) noexcept {
    if (messages == from_)
      begin_ = cpu_seconds();
    else if (messages == to_)
      sum_ += cpu_seconds() - begin_ - own_; // subtract the cost of reading the clock
  }
  [[nodiscard]] double take() noexcept { return std::exchange(sum_, 0.0); }
  [[nodiscard]] double steps() const noexcept { return static_cast<double>(to_ - from_); }

private:
  std::size_t from_;
  std::size_t to_;
  double own_ = 1;
  double begin_ = 0;
  double sum_ = 0;
};

compiled_graph<history> make_appender(std::size_t steps, last_tenth& clock) {
  auto g = graph<history>{};
  g.add(node_name, [&clock](const history& s) {
    clock.enter(s.messages.size());
    return update{set<&history::messages>({human_message(std::string(100, 'm'))})};
  });
  g.edge(start, node_name);
  g.branch(node_name,
           [steps](const history& s) {
             return s.messages.size() < steps ? destination{node_name} : destination{end};
           },
           {node_name, end});
  return g.compile({.name = "append"});
}

} // namespace

report append(parameters& p) {
  const auto steps = p.count("S", 1'000, {.min = 2, .max = 10'000'000});
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto clock = last_tenth{steps};
  const auto graph = make_appender(steps, clock);
  auto e = engine{options};
  auto runs_of = series<history>{e, graph, {}, steps_max(static_cast<std::int64_t>(steps))};
  static_cast<void>(runs_of.run(1));
  static_cast<void>(clock.take());
  auto out = report{.unit = "super-step", .units = static_cast<double>(steps * runs)};
  auto last = std::numeric_limits<double>::infinity();
  out.time = measure(repetitions, [&] {
    auto ended = runs_of.run(runs);
    expect(ended.state.messages.size() == steps,
           std::to_string(ended.state.messages.size()) + " messages");
    last = std::min(last, clock.take());
    return ended;
  });
  out.extra = {{"last_us", last * 1e6 / clock.steps() / static_cast<double>(runs)}};
  out.checks = {{"messages", steps}};
  return out;
}

} // namespace superstep::bench
