// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pooled_actor.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace superstep {

/// The idle actors of a lane. An actor is reused only if no other thread can reach it.
class idle_actors {
public:
  /// @param idle_max the largest number of idle actors; 0 to create an actor for each use
  idle_actors(caf::actor_system& system, std::size_t idle_max) noexcept
      : system_{system}, idle_max_{idle_max} {}
  idle_actors(const idle_actors&) = delete;
  idle_actors& operator=(const idle_actors&) = delete;

  /// Returns an actor with a new assignment.
  [[nodiscard]] pooled_actor_ptr take(const actor_assignment& assignment);
  /// Takes back an actor that is not acquired, or drops it if it cannot be reused.
  void give_back(pooled_actor_ptr&& actor) noexcept;
  void clear() noexcept { idle_.clear(); }
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.size(); }
  /// Whether actors are reused at all.
  [[nodiscard]] bool reuses() const noexcept { return idle_max_ > 0; }

private:
  caf::actor_system& system_;
  const std::size_t idle_max_;
  std::vector<pooled_actor_ptr> idle_;
};

} // namespace superstep
