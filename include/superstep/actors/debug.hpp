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
enum class actor_kind : std::uint8_t {
  coordinator, ///< the run itself
  node,        ///< a node that edges triggered
  tool,        ///< a Send, or work that a body has forked
};
/// The state of the call (the execution of a body) that an actor serves.
enum class call_state : std::uint8_t {
  idle,      ///< the actor serves no call
  running,   ///< the body runs
  queued,    ///< the body waits for a thread, or for its actor, which handles a message
  suspended, ///< the body is a coroutine that awaits something
};

/// A reference to an actor, returned by engine_debug::actors(). While it exists, the actor is not
/// reused for another call. Cheap to copy; may outlive the engine.
///
/// All members may be called from any thread. Calling a member of a default-constructed reference
/// is undefined behaviour.
class actor_ref {
public:
  /// Sends the actor an exit message, which ends it; does not wait. A task that the actor serves
  /// fails with graph_errc::actor_exited and is not retried; failure handlers apply. Forked work
  /// that the actor serves ends without a result; see settled. The exit of a coordinator, or of an
  /// idle node actor, fails the run with the same code. No effect on an actor that has ended.
  void exit() const;
  /// Calls `down` once when the actor ends. The call comes from a thread of the engine, or from
  /// monitor() itself if the actor has ended. An exception of `down` is written to standard error.
  void monitor(std::function<void()> down) const;
  /// Whether the actor has not ended.
  [[nodiscard]] bool is_alive() const;
  /// Returns the actor's id, which is unique in the engine.
  [[nodiscard]] std::uint64_t id() const;

private:
  friend class engine_debug;
  struct held;
  std::shared_ptr<held> actor_;
};

/// The description of a live actor of a run.
struct actor_info {
  actor_ref actor;  ///< refers to the actor, and keeps it from being reused
  actor_kind kind;  ///< the kind of the actor
  call_state state; ///< the state of the call that it serves
  std::string node; ///< name of the node; empty for the coordinator
  std::string task; ///< path of the task that it serves, e.g. `tools#3`; empty if it is idle
};

/// Inspects the runs of an engine. For tests, and for finding out why a run does not end. It may
/// outlive the engine. All members may be called from any thread unless stated.
class engine_debug {
public:
  /// Returns the current actors of a run of this engine: the coordinator, an actor for each node of
  /// the graph, and one for each active Send or fork. Empty if the run has ended or the engine has
  /// shut down. Blocks until the run's lane has answered, so bodies and callbacks of the engine
  /// must not call it.
  [[nodiscard]] std::vector<actor_info> actors(const run_handle&) const;
  /// Returns the number of runs that have not ended, nested runs included.
  [[nodiscard]] std::size_t live_runs() const;
  /// Returns the number of bodies that hang: that run for longer than engine_options::hung_after.
  [[nodiscard]] std::size_t hung_threads() const;
  /// Returns the number of times that a run was moved from a busy lane to an idle one.
  [[nodiscard]] std::uint64_t moved_runs() const;

private:
  friend class engine;
  explicit engine_debug(std::shared_ptr<detail::engine_core> core) : core_{std::move(core)} {}
  std::shared_ptr<detail::engine_core> core_;
};

} // namespace superstep
