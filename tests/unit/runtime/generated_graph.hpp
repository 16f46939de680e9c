// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/seeded_scheduler.hpp"

namespace superstep::test {

/// Generates a graph from a seed: five to nine nodes that start from the entry, plain edges, joins,
/// bounded loops, branches, Sends from routers and commands, bodies that fail (some with a handler,
/// some without), and a channel of every kind. The writes of a body depend on everything it can
/// see, so any difference in order reaches the final state.
[[nodiscard]] scenario generate_graph(std::uint64_t seed);

} // namespace superstep::test
