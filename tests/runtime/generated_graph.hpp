// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/seeded_scheduler.hpp"

namespace superstep::test {

/// A graph made from a seed: five to nine nodes at once from the entry, plain edges, joins, bounded
/// loops, branches, Sends from routers and from Commands, bodies that fail (some with a handler,
/// some without), and a channel of every kind. What a body writes depends on all it can see, so
/// that any difference of order goes on to the end.
[[nodiscard]] scenario generate_graph(std::uint64_t seed);

} // namespace superstep::test
