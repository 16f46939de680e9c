// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <string_view>

// The JSON that checkpointer::show() and history() return. All checkpointers build it here.
namespace superstep::detail {

/// Returns the names of the nodes that run after a checkpoint: START for a new input, the targets
/// of Sends, then the triggered nodes.
/// @param row the JSON row of the checkpoint
[[nodiscard]] json::array next_nodes(const json::object& row, const stored_layout&);
[[nodiscard]] json::array next_nodes(const checkpoint&);

/// Returns a checkpoint in the form of checkpointer::history().
/// @param graph name of the graph that wrote it
/// @param next the result of next_nodes()
/// @param metadata metadata of the checkpoint; null if it has none
[[nodiscard]] json::object describe(const thread_key&, const checkpoint_header&,
                                    std::string_view graph, json::array next,
                                    const json::object* metadata);

/// Returns the channel values in a whole row, by channel name. A channel without a value is
/// missing.
[[nodiscard]] json::object values_in(const json::object& row);

} // namespace superstep::detail
