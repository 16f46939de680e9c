// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_api/json_runs.hpp"

#include <string>
#include <utility>
#include <vector>

// Shared by tests that use the thread `t`.
namespace graph_api {

inline ss::compiled_json_graph chain(std::vector<std::string> nodes,
                                     ss::compile_options options = kept()) {
  auto g = logging(nodes);
  nodes.insert(nodes.begin(), "__start__");
  g.sequence(nodes);
  return g.compile(std::move(options));
}

inline ss::run_config at(std::string checkpoint_id) {
  auto config = on("t");
  config.thread.emplace().checkpoint_id = std::move(checkpoint_id);
  return config;
}

inline std::string log_in(const ss::compiled_json_graph& g, const ss::state_snapshot& s) {
  return log_of({{}, ss::detail::adapter_of(g).state(*s.state)});
}

using update = ss::state_update<json::object>;

inline const auto said_x = json::object{{"log", json::array{"x"}}};

} // namespace graph_api
