// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

namespace superstep {

/// Whether all calls of a chunk have integer indexes, in increasing order.
[[nodiscard]] bool has_sorted_calls(const message_chunk&) noexcept;

/// Appends a chunk like append(), for many chunks of one answer. An answer may have 100,000 calls,
/// so each piece of a call is looked up in O(log n).
/// @param is_sorted must be has_sorted_calls(into), and is updated for the new `into`
[[nodiscard]] result<> append_chunk(message_chunk& into, message_chunk more, bool& is_sorted);

} // namespace superstep
