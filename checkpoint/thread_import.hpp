// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <string>

namespace superstep {

/// Converts channel values of another program, such as LangGraph, to the text of an exported
/// thread. The thread has one checkpoint and no next step.
///
/// The values have no C++ types yet. When a graph loads the thread, each value is read as the type
/// of the graph's channel with the same name. A value that does not fit the type is an error
/// (checkpoint_errc::corrupt).
/// @param values channel names and values
/// @param step number of the last super-step in the other program; -1 if none ran
/// @return text for checkpointer::import_thread()
[[nodiscard]] std::string thread_of_values(const json::object& values, std::int64_t step = -1);

} // namespace superstep
