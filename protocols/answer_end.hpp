// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message.hpp>

#include <string_view>

namespace superstep {

/// Returns the server's word for why it cut the answer (`length`, `max_tokens`, `content_filter`).
/// Empty: the model ended the answer itself, or the server gave no reason. An unknown word counts
/// as a cut: taking half a call for a whole one is worse than asking again.
/// @returns a view into `answer`
[[nodiscard]] std::string_view cut_reason(const message& answer) noexcept;

} // namespace superstep
