// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <memory>
#include <system_error>

namespace superstep {

/// Creates the actor system of an engine. Throws std::system_error if the system does not allow the
/// threads that CAF needs.
/// @param config used by the actor system as long as it exists
[[nodiscard]] std::unique_ptr<caf::actor_system>
make_actor_system(caf::actor_system_config& config);

/// Returns the exception for an engine that cannot start its threads.
[[nodiscard]] std::system_error no_threads(const std::error_code& why);

} // namespace superstep
