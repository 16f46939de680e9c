// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep {

// Long-term memory for a model: what it keeps in one conversation it finds in all others. The store
// is that of the graph or run; without one the node of tools refuses all its calls.

/// Where the memories lie that two tools of one namespace share.
struct remember_options {
  store_namespace ns{"memories"};
};
struct recall_options {
  store_namespace ns{"memories"};
  std::size_t items_max = 1'000; ///< that one call looks at
};

/// `remember`: keeps `text` under `key`, in the place of what was there.
[[nodiscard]] tool_ptr make_remember(remember_options options = {});

/// `recall`: all that is kept, a line `key: text` each, or, with `about`, what has that in its key
/// or text, in letters of either case.
[[nodiscard]] tool_ptr make_recall(recall_options options = {});

} // namespace superstep
