// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/engine_access.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Small JSON graphs and their runs. They use JSON because most of these tests are about names and
// values.
namespace graph_api {

namespace ss = superstep;
namespace json = boost::json;

/// A node that appends its own name to the channel `log`.
inline auto logs(std::string name) {
  return [name = std::move(name)](const json::value&) {
    return json::object{{"log", json::array{name}}};
  };
}

/// A graph with the channel `log` and logging nodes; the test adds the edges.
inline ss::json_graph logging(const std::vector<std::string>& nodes) {
  auto g = ss::json_graph{};
  g.channel("log", "append");
  for (const auto& n : nodes)
    g.add(n, logs(n));
  return g;
}

inline ss::compile_options kept() {
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  return options;
}

inline ss::run_config on(std::string thread) {
  auto config = ss::run_config{};
  config.thread_id = std::move(thread);
  return config;
}

/// The result of a run and its state.
struct outcome {
  ss::run_result<json::object> raw;
  json::object state;
};

template <class Input = json::object>
outcome run(ss::engine& e, const ss::compiled_json_graph& g, Input input,
            ss::run_config config = {}) {
  auto out = outcome{e.try_invoke(g, std::move(input), std::move(config)), {}};
  out.state = out.raw.state;
  return out;
}

inline outcome run(ss::engine& e, const ss::compiled_json_graph& g) {
  return run(e, g, json::object{});
}

/// Returns the channel `log` as one text.
inline std::string log_of(const outcome& o) {
  auto text = std::string{};
  for (const auto& v : o.state.at("log").as_array())
    text += (text.empty() ? "" : " ") + std::string{v.as_string()};
  return text;
}

inline ss::resume answer(json::value v) {
  auto said = ss::resume(std::move(v));
  return said;
}

/// A coroutine node that interrupts with `what` and logs the answer.
inline auto asks(std::string what) {
  return [what = std::move(what)](const json::value&, ss::runtime rt) -> ss::task<json::object> {
    auto asked = rt.interrupt(json::string{what});
    const auto said = co_await asked;
    auto out = json::object{};
    out["log"] = json::array{said};
    co_return out;
  };
}

/// Returns all events of a run in order.
template <class Input>
std::vector<ss::detail::run_event> events(ss::engine& e, const ss::compiled_json_graph& g,
                                          Input input, ss::stream_mode modes,
                                          ss::run_config config = {}) {
  auto stream = ss::detail::engine_access::stream(e, g, std::move(input), modes, std::move(config));
  auto out = std::vector<ss::detail::run_event>{};
  while (auto event = stream.next())
    out.push_back(std::move(*event));
  return out;
}

} // namespace graph_api
