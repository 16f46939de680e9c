// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// A chat model that can also report its answer while it arrives.
class streaming_chat_model : public chat_model {
public:
  /// Returns the same message as complete(), and reports its parts to `on_event` as they arrive.
  /// The parts add up to the message. The handler is called by one thread at a time, whichever
  /// resumes the task.
  [[nodiscard]] virtual task<result<message>> stream(model_request request,
                                                     protocol_event_handler on_event) const = 0;
};
using streaming_chat_model_ptr = std::shared_ptr<const streaming_chat_model>;

/// Asks the next middleware, or the model behind the last one.
using generate_function = std::function<task<result<message>>(model_request)>;
using stream_function = std::function<task<result<message>>(model_request, protocol_event_handler)>;

/// A wrapper around the calls of a model, with three hooks. The default hooks change nothing. The
/// hooks and their order follow `LanguageModelMiddleware` of the AI SDK.
///
/// Immutable and shared by all calls, from any thread. Outlives the tasks that it returns.
class model_middleware {
public:
  virtual ~model_middleware() = default;
  /// Returns text that changes whenever the middleware would change answers, so that a journal of
  /// other answers is not reused. Must not contain secrets. Empty if it never changes an answer.
  [[nodiscard]] virtual std::string fingerprint() const { return {}; }
  /// Returns the request that is sent instead. An error ends the call with that error.
  [[nodiscard]] virtual result<model_request> transform(model_request request) const {
    return request;
  }
  /// Wraps a call of complete().
  /// @param asked the request before transform() changed it
  /// @param request the request after transform()
  /// @param next may be called any number of times, or never
  [[nodiscard]] virtual task<result<message>>
  wrap_generate(model_request asked, model_request request, generate_function next) const;
  /// Wraps a call of stream().
  /// @param on_event receives what the caller of the wrapped model is to see
  [[nodiscard]] virtual task<result<message>> wrap_stream(model_request asked,
                                                          model_request request,
                                                          stream_function next,
                                                          protocol_event_handler on_event) const;
};
using model_middleware_ptr = std::shared_ptr<const model_middleware>;

/// Returns the model wrapped in the middleware. The first of the list gets a request first.
///
/// If the model has no stream(), its answer is reported when it is complete.
[[nodiscard]] streaming_chat_model_ptr wrap_model(chat_model_ptr model,
                                                  std::vector<model_middleware_ptr> middleware);

/// Creates a middleware that adds parameters to requests that do not set them.
[[nodiscard]] model_middleware_ptr make_defaults_middleware(json::object parameters);

/// A model call and its outcome, for a log.
struct model_call_record {
  std::string run_key;
  std::uint32_t turn = 0;
  std::size_t messages = 0;
  std::size_t tools = 0;
  bool is_stream = false;
  std::string error;                ///< empty if the model answered
  std::optional<token_usage> usage; ///< of the answer
  std::size_t tool_calls = 0;       ///< in the answer
};
/// Creates a middleware that reports each call when it has ended.
/// @param on_call called by any thread
[[nodiscard]] model_middleware_ptr
make_logging_middleware(std::function<void(const model_call_record&)> on_call);

/// Creates a middleware that answers a request that is equal to an earlier one without asking the
/// model again. Evicts the least recently used answer. Does not store errors and streams. Not for
/// models that must give different answers to the same request.
/// @param answers_max the number of stored answers; at least 1
[[nodiscard]] model_middleware_ptr make_caching_middleware(std::size_t answers_max);

/// Creates a middleware that repairs native tool calls: arguments that are not valid JSON are read
/// as relaxed JSON, and arguments are coerced to the schema of their tool.
[[nodiscard]] model_middleware_ptr make_repair_middleware();

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
  /// Most calls in one answer, invalid ones included; unset: no limit (see docs/protocols.md for
  /// the bound of the parsers). An answer with more is the error `model_errc::bad_answer`, streamed
  /// or not. A stream stops before the first call above the limit.
  std::optional<std::size_t> calls_max = 1'000;
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
