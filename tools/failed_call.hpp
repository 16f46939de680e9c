// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// The tool message that answers a call with an error in these words.
[[nodiscard]] message failed_call(const tool_call& call, std::string text);

/// The answer to a call that was stopped from outside, so that the model is not left waiting.
/// @param why what became of it, without a full stop
[[nodiscard]] message stopped_call(const tool_call& call, std::string_view why);

} // namespace superstep
