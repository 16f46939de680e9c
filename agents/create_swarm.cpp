// SPDX-License-Identifier: Apache-2.0
// Builds a swarm: a graph whose agents hand over to each other. A new turn starts with the agent
// that was active last.
#include "agents/team.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/multi_agent.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

compiled_graph<swarm_state> create_swarm(swarm_options o) {
  const auto names = std::make_shared<const std::vector<std::string>>(detail::names_of(o.agents));
  if (std::ranges::find(*names, o.default_agent) == names->end())
    react::refuse_options("default_agent '" + o.default_agent + "' is not an agent of the swarm");
  auto swarm = graph<swarm_state>{};
  for (auto i = std::size_t{0}; i < names->size(); ++i) {
    auto options = node_options{};
    std::ranges::copy_if(*names, std::back_inserter(options.destinations),
                         [&](const auto& name) { return name != (*names)[i]; });
    const auto at = node<swarm_state>{(*names)[i]};
    swarm.add(
        at, o.agents[i], detail::messages_for_agent<swarm_state>,
        [](const messages_state& ended) {
          return update{set<&swarm_state::messages>(ended.messages)};
        },
        std::move(options));
  }
  swarm.branch(start, [names, first = o.default_agent](const swarm_state& state) {
    // A destination refers to a name without owning it, so the router captures `names`.
    const auto active = std::ranges::find(*names, state.active_agent);
    return destination{active == names->end() ? std::string_view{first} : *active};
  });
  auto compile = compile_options{};
  compile.name = std::move(o.name);
  compile.checkpointer = std::move(o.checkpointer);
  compile.store = std::move(o.store);
  return swarm.compile(std::move(compile));
}

} // namespace superstep
