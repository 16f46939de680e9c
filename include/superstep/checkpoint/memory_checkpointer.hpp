// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <memory>

namespace superstep {

/// Makes a checkpointer in memory, for tests and short-lived threads. Checkpoints live as long as
/// the object. Values are shared with the runs that made them, not copied, so they need no stored
/// form. threads(), show(), history() and prune() are not implemented: they throw
/// checkpoint_error{failed}. May be called from any thread. Source: `InMemorySaver` in
/// LangGraph 1.2.22, checkpoint/memory.
[[nodiscard]] std::shared_ptr<checkpointer> memory_checkpointer();

} // namespace superstep
