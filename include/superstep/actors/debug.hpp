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

enum class actor_kind : std::uint8_t { coordinator, node, tool };
/// What the call of an actor is doing; `idle` when it has none.
enum class call_state : std::uint8_t { idle, running, queued, suspended };

/// A live actor, held: while anybody holds it, it is not given to another call.
class actor_ref {
public:
  /// Sends the actor an exit, as any actor of the system could.
  void exit() const;
  /// Calls `down` once, on a thread of the engine, when the actor has ended; at once if it has.
  void monitor(std::function<void()> down) const;
  [[nodiscard]] bool is_alive() const;
  [[nodiscard]] std::uint64_t id() const;

private:
  friend class engine_debug;
  struct held;
  std::shared_ptr<held> actor_;
};

struct actor_info {
  actor_ref actor;
  actor_kind kind;
  call_state state;
  std::string node; ///< empty for the coordinator
  std::string task; ///< task path of the running call, e.g. `tools#3`
};

/// Looks into an engine from outside. For tests and for finding out what hangs.
class engine_debug {
public:
  /// The actors of a run as they are now; empty when it has ended or the engine has shut down.
  /// Blocks for a moment; not for bodies.
  [[nodiscard]] std::vector<actor_info> actors(const run_handle&) const;
  /// Runs that have not ended.
  [[nodiscard]] std::size_t live_runs() const;

private:
  friend class engine;
  explicit engine_debug(std::shared_ptr<detail::engine_core> core) : core_{std::move(core)} {}
  std::shared_ptr<detail::engine_core> core_;
};

} // namespace superstep
