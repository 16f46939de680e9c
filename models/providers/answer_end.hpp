// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// Whether the reason, in upper or lower case, means that the model ended the answer itself. False
/// for unknown reasons: running half a call is worse than asking again.
[[nodiscard]] bool is_normal_end(std::string_view reason);

/// Returns "" if the model ended the answer itself, otherwise an error text such as `the answer was
/// cut (length)`. Providers have many names for limits and filters. So every reason that is not a
/// known normal end counts as a cut.
[[nodiscard]] std::string why_cut(std::string_view reason);

/// Like why_cut(reason), for the metadata of a complete answer of any provider.
[[nodiscard]] std::string why_cut(const json::object& metadata);

/// Like why_cut(metadata), for a stream. A stream without a reason counts as cut.
[[nodiscard]] std::string why_cut_stream(const json::object& metadata);

/// Returns the text with which the model refused to answer; "" if it did not refuse. OpenAI's APIs
/// send this text instead of the text of the answer.
[[nodiscard]] std::string refusal_of(const message& answer);

/// Returns the error text for an answer with which the model refused; "" if it did not refuse.
/// Anthropic's API has a stop reason for refusals, and OpenAI's have refusal_of().
[[nodiscard]] std::string why_refused(const message& answer);

} // namespace superstep::providers
