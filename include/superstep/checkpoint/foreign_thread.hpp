// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <string>

namespace superstep {

/// A thread of another program as an exported one, which any saver imports: values by channel, and
/// nothing left to run. What a value is is not known here: when the thread is loaded for a graph,
/// it is read as the channel's type of today, and refused with saver_errc::corrupt if it is none.
/// @param step that the values stand after, as the other program counts
[[nodiscard]] std::string thread_of_values(const json::object& values, std::int64_t step = -1);

} // namespace superstep
