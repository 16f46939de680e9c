// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/scenario.hpp"

#include <superstep/actors/engine.hpp>

#include <boost/describe.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::simulation {

/// Appending this line takes long.
inline constexpr auto slow_line = std::string_view{"slow"};

struct add_lines {
  void operator()(std::vector<std::string>& into, std::vector<std::string>&& more) const {
    yield();
    if (!more.empty() && more.front() == slow_line)
      world::current()->block(microseconds{1'200});
    for (auto& line : more)
      into.push_back(std::move(line));
  }
};

/// The state of all scripted graphs.
struct notebook {
  std::vector<std::string> log;
  std::int64_t sum = 0;
  using reducers =
      superstep::reducers<by<&notebook::log, add_lines>, by<&notebook::sum, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(notebook, (), (log, sum))

[[nodiscard]] std::string to_text(const notebook& state);

/// The reports of bodies to the simulation of a schedule.
struct observations {
  int live_bodies = 0;           ///< bodies whose frames exist
  std::set<std::string> tainted; ///< ids of runs in which a handler replaced a disturbed task
  std::string broken;            ///< the first rule that was broken
};

/// Compiles the graphs of a scenario; returns the first one.
[[nodiscard]] compiled_graph<notebook> build(const scenario& s,
                                             const std::shared_ptr<observations>& seen,
                                             std::shared_ptr<checkpointer> checkpointer);

/// The answer that the simulated user gives to a question.
[[nodiscard]] json::value answer_to(const json::value& question);

} // namespace superstep::simulation
