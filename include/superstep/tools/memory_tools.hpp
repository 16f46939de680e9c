// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep {

// Tools that give a model long-term memory: what it stores in one conversation it can find in all
// others. They use the store of the graph or run; without a store their calls fail.

/// Options of make_remember(). Tools with the same namespace share their memories.
struct remember_options {
  store_namespace ns{"memories"}; ///< where to store the memories
};
/// Options of make_recall().
struct recall_options {
  store_namespace ns{"memories"}; ///< where to search
  std::size_t items_max = 1'000; ///< maximum number of memories that one call reads
};

/// Makes the tool `remember`: it stores `text` under `key` and replaces an earlier text.
[[nodiscard]] tool_ptr make_remember(remember_options options = {});

/// Makes the tool `recall`. Its result contains a line `key: text` for each memory; with the
/// argument `about`, only those with that text in their key or text, ignoring case.
[[nodiscard]] tool_ptr make_recall(recall_options options = {});

} // namespace superstep
