// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/shutdown_list.hpp"
#include "actors/state_stream.hpp"

#include <superstep/actors/engine.hpp>

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace superstep::detail {

/// Type-erased access to an engine, for the command line, the conformance programs and tests.
struct engine_access {
  /// Starts a run; see engine::submit(). If `sink` is set, it receives the events of the given
  /// modes.
  static run_handle start(engine& e, const program_ptr& program, run_input input, run_config config,
                          std::function<void(raw_result)> done,
                          stream_mode modes = stream_mode::none,
                          std::shared_ptr<event_sink> sink = nullptr) {
    return e.start(program, std::move(input), std::move(config), std::move(done), modes,
                   std::move(sink));
  }
  /// Runs to the end or an interrupt; see engine::try_invoke().
  static raw_result wait_for(engine& e, const program_ptr& program, run_input input,
                             run_config config = {}) {
    return e.wait_for(program, std::move(input), std::move(config));
  }
  /// Starts a run and returns its events; see engine::stream().
  static event_stream open_stream(engine& e, const program_ptr& program, run_input input,
                                  stream_mode modes, run_config config = {},
                                  std::size_t buffer_max = 1'024) {
    return e.open_stream(program, std::move(input), modes, std::move(config), buffer_max);
  }
  /// Whether this is the actor system of the engine, not one of the program.
  [[nodiscard]] static bool has_system(engine& e, const caf::actor_system& system);
  /// Notifies an object when the engine is destroyed, before it shuts down.
  static void at_shutdown(engine& e, std::weak_ptr<shutdown_listener> listener);
  /// Starts a run of a typed graph and returns its events; see engine::stream().
  template <class State, run_input_of<State> Input = default_input<State>>
  static state_stream<State> stream(engine& e, const compiled_graph<State>& graph, Input input,
                                    stream_mode modes, run_config config = {},
                                    std::size_t buffer_max = 1'024) {
    return state_stream<State>{open_stream(e, program_of(graph), input_for(graph, std::move(input)),
                                           modes, std::move(config), buffer_max)};
  }
};

} // namespace superstep::detail
