// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <memory>

namespace superstep {

/// Makes a checkpointer in memory, for tests and short-lived threads. Checkpoints live as long as
/// the object. Values are shared with the runs that made them, not copied, so they need no stored
/// form. They are converted for show(), for export_thread() and for a changed graph; this throws
/// checkpoint_error{not_storable} for a value without a stored form. May be called from any thread.
/// Source: `InMemorySaver` in LangGraph 1.2.22, checkpoint/memory.
[[nodiscard]] std::shared_ptr<checkpointer> memory_checkpointer();

} // namespace superstep
