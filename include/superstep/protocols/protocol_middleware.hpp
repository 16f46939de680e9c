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

struct protocol_options {
  tool_protocol_ptr protocol; ///< required
  /// The system text instead of the protocol's own, made from the tools; null: the protocol's.
  std::function<std::string(const tool_protocol&, const std::vector<protocol_tool>&)> prompt;
  /// How often a model is asked again whose answer holds a call that cannot be read. Not in
  /// streams: what has been told cannot be taken back.
  std::uint32_t retries = 1;
  stream_options stream;
  unclosed_calls unclosed = unclosed_calls::complete;
  /// Most calls in one answer, invalid ones included; 0 = no limit (see docs/protocols.md for the
  /// bound of the parsers). An answer with more is the error `model_errc::bad_answer`, streamed or
  /// not. A stream stops before the first call above the limit.
  std::size_t calls_max = 1'000;
  /// Told of all that could not be taken as a call. Called by any thread that awaits an answer.
  protocol_error_handler on_error;
};

/// Lets a model without tool calls of its own be asked like one that has them: tools and history
/// become text, and calls are read from the text of the answer, each with a fresh id.
///
/// `tool_choice` among the parameters is taken out: `none` leaves the tools out, `required` and
/// `{type: function, function: {name}}` ask for JSON of the tools' schemas (`response_format`).
[[nodiscard]] model_middleware_ptr make_protocol_middleware(protocol_options options);

/// One answer through the protocol, for a caller with options of this request alone.
[[nodiscard]] task<result<message>>
complete_with_protocol(chat_model_ptr model, protocol_options options, model_request request);

} // namespace superstep
