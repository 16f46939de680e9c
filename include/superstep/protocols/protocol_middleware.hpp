// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/model_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// Selects the treatment of a call whose end is missing when the answer ends. If the server cut the
/// answer (`finish_reason: length` and its like), such a call is never run, in either mode.
enum class unclosed_calls {
  complete, ///< the call is completed if what is there can be read; models forget close tags
  refuse,   ///< the call becomes an invalid call, which the agent answers with an error
};

/// Options of make_protocol_middleware().
struct protocol_options {
  tool_protocol_ptr protocol; ///< required
  /// Returns the system text for the tools. Null uses tool_protocol::prompt().
  std::function<std::string(const tool_protocol&, const std::vector<protocol_tool>&)> prompt;
  /// Maximum number of further requests after an answer with a call that cannot be parsed. Streams
  /// are never repeated, because their parts have been reported already.
  std::uint32_t retries = 1;
  stream_options stream;
  unclosed_calls unclosed = unclosed_calls::complete;
  /// Most calls in one answer, invalid ones included; 0 = no limit (see docs/protocols.md for the
  /// bound of the parsers). An answer with more is the error `model_errc::bad_answer`, streamed or
  /// not. A stream stops before the first call above the limit.
  std::size_t calls_max = 1'000;
  /// Receives every part of an answer that could not be parsed as a call. Called by the thread that
  /// resumes the task of that answer.
  protocol_error_handler on_error;
};

/// Creates a middleware that gives tool calls to a model without native ones: tools and history are
/// written as text, and calls are parsed from the text of the answer. Each call gets a new id.
///
/// The parameter `tool_choice` is removed from the request. `none` omits the tools; `required` and
/// `{type: function, function: {name}}` request JSON of the tools' schemas (`response_format`).
[[nodiscard]] model_middleware_ptr make_protocol_middleware(protocol_options options);

/// Asks the model once through a protocol, for options that apply to this request only.
[[nodiscard]] task<result<message>>
complete_with_protocol(chat_model_ptr model, protocol_options options, model_request request);

} // namespace superstep
