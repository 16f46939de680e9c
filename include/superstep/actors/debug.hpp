// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/run.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// The kinds of actors that a run has.
enum class actor_kind : std::uint8_t { coordinator, node, tool };
/// The state of an actor's call; `idle` if it has none.
enum class call_state : std::uint8_t { idle, running, queued, suspended };

/// A reference to a live actor. While one exists, the actor is not reused for another call. Cheap
/// to copy; may outlive the engine.
class actor_ref {
public:
  /// Sends the actor an exit message, as any actor of the system could.
  void exit() const;
  /// Calls `down` once, on a thread of the engine, when the actor ends; at once if it has ended.
  void monitor(std::function<void()> down) const;
  /// Whether the actor has not ended.
  [[nodiscard]] bool is_alive() const;
  /// The actor's id, unique in the engine.
  [[nodiscard]] std::uint64_t id() const;

private:
  friend class engine_debug;
  struct held;
  std::shared_ptr<held> actor_;
};

/// The description of a live actor of a run.
struct actor_info {
  actor_ref actor;
  actor_kind kind;
  call_state state;
  std::string node; ///< empty for the coordinator
  std::string task; ///< task path of the running call, e.g. `tools#3`
};

/// Inspects an engine from outside, for tests and for finding the cause of a run that does not end.
class engine_debug {
public:
  /// Returns the current actors of a run; empty if the run has ended or the engine has shut down.
  /// Blocks until the lane has answered, so a body must not call it.
  [[nodiscard]] std::vector<actor_info> actors(const run_handle&) const;
  /// Returns the number of runs that have not ended.
  [[nodiscard]] std::size_t live_runs() const;

private:
  friend class engine;
  explicit engine_debug(std::shared_ptr<detail::engine_core> core) : core_{std::move(core)} {}
  std::shared_ptr<detail::engine_core> core_;
};

} // namespace superstep
