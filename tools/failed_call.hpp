// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Returns the tool message that answers a call with an error.
/// @param text the error that the model reads
[[nodiscard]] message failed_call(const tool_call& call, std::string text);

/// Returns the answer to a call that was stopped from outside, so that every call has an answer.
/// @param why what happened to the call, without a full stop
[[nodiscard]] message stopped_call(const tool_call& call, std::string_view why);

} // namespace superstep
