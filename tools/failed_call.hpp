// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/tools/tool.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Returns the tool message that answers a call with an error.
/// @param text the error text for the model
[[nodiscard]] message failed_call(const tool_call& call, std::string text);

/// Returns the answer to a call that was stopped from outside. Providers require an answer to every
/// call.
/// @param why the reason, without a full stop at its end
[[nodiscard]] message stopped_call(const tool_call& call, std::string_view why);

/// Returns the output of a call that has failed.
/// @param text the error text for the model
[[nodiscard]] tool_output error_output(std::string text);

} // namespace superstep
