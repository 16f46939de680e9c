// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep::detail {

/// Returns memory for the frame of a coroutine. Reuses the frames that this thread has freed: most
/// coroutines of an agent end at once, and an agent starts several for each call.
///
/// @throws std::bad_alloc if there is no memory
/// @par Threads
/// A frame may be freed by another thread than the one that allocated it. Takes no lock.
[[nodiscard]] void* take_frame(std::size_t bytes);
/// Frees the memory of a frame. @param bytes the size passed to take_frame()
void free_frame(void* frame, std::size_t bytes) noexcept;

} // namespace superstep::detail
