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

/// A chat model that can also report its answer while the answer arrives.
class streaming_chat_model : public chat_model {
public:
  /// Sends one request to the model and reports the parts of the answer as they arrive.
  ///
  /// @param request as for complete()
  /// @param on_event receives the events in order. It runs on the thread that resumes the task, and
  /// never on two threads at the same time. Must not be null.
  /// @return the complete answer, with the text and calls of all events; or an error, as complete()
  /// returns it. Events that were reported before an error are not withdrawn.
  /// @par Lifetime
  /// The model must outlive the task.
  [[nodiscard]] virtual task<result<message>> stream(model_request request,
                                                     protocol_event_handler on_event) const = 0;
};
using streaming_chat_model_ptr = std::shared_ptr<const streaming_chat_model>;

/// A function that passes a request to the next middleware, or from the last one to the model.
/// Returns the complete answer.
using generate_function = std::function<task<result<message>>(model_request)>;
/// A function that passes a request for a streamed answer to the next middleware, or from the last
/// one to the model. The handler receives the parts of the answer.
using stream_function = std::function<task<result<message>>(model_request, protocol_event_handler)>;

/// A wrapper around the calls of a model. A subclass overrides the hooks that it needs:
/// transform(), wrap_generate() and wrap_stream(). The default hooks change nothing.
///
/// A middleware is immutable and shared by all calls, from any thread. It must outlive the tasks
/// that it returns; wrap_model() keeps it alive.
///
/// Source: `LanguageModelMiddleware` of the AI SDK (hooks and their order).
class model_middleware {
public:
  virtual ~model_middleware() = default;
  /// Returns a text that identifies the middleware and its options. A batch job stores it and is
  /// not resumed with a different one, because the answers could differ. Must not contain secrets.
  /// Empty if the middleware never changes an answer.
  [[nodiscard]] virtual std::string fingerprint() const { return {}; }
  /// Returns the request to send in place of `request`. If it returns an error, the model is not
  /// asked and the call ends with that error.
  [[nodiscard]] virtual result<model_request> transform(model_request request) const {
    return request;
  }
  /// Wraps a call of complete(). By default, returns the result of `next(request)`.
  /// @param asked the request before transform() changed it
  /// @param request the request after transform()
  /// @param next passes a request to the next middleware or the model; may be called any number of
  /// times, or never
  /// @return the answer that the caller of the wrapped model gets, or an error
  [[nodiscard]] virtual task<result<message>>
  wrap_generate(model_request asked, model_request request, generate_function next) const;
  /// Wraps a call of stream(). By default, returns the result of `next(request, on_event)`. The
  /// other parameters and the result are those of wrap_generate().
  /// @param on_event receives the events for the caller of the wrapped model
  [[nodiscard]] virtual task<result<message>> wrap_stream(model_request asked,
                                                          model_request request,
                                                          stream_function next,
                                                          protocol_event_handler on_event) const;
};
/// A shared, immutable middleware.
using model_middleware_ptr = std::shared_ptr<const model_middleware>;

/// Wraps a model in middleware. May be called from any thread.
///
/// The result also has stream(). If `model` is not a streaming_chat_model, stream() reports the
/// whole answer at once when it is complete.
///
/// @param model the model to wrap; must not be null
/// @param middleware the wrappers, outermost first: the first gets a request first and its answer
/// last. May be empty; must not contain null.
/// @return a model that shares ownership of `model` and the middleware
[[nodiscard]] streaming_chat_model_ptr wrap_model(chat_model_ptr model,
                                                  std::vector<model_middleware_ptr> middleware);

/// Creates a middleware that adds parameters to requests. May be called from any thread.
/// @param parameters values by name, as in model_request::parameters; a value that the request
/// already sets is kept
[[nodiscard]] model_middleware_ptr make_defaults_middleware(json::object parameters);

/// A model call and its outcome, for a log.
struct model_call_record {
  std::string run_key;              ///< model_request::run_key of the request
  std::uint32_t turn = 0;           ///< model_request::turn of the request
  std::size_t messages = 0;         ///< number of messages in the request
  std::size_t tools = 0;            ///< number of tools in the request
  bool is_stream = false;           ///< whether the call was stream(), not complete()
  std::string error;                ///< error text; empty if the model answered
  std::optional<token_usage> usage; ///< token counts of the answer, if the model reports them
  std::size_t tool_calls = 0;       ///< number of valid tool calls in the answer
};
/// Creates a middleware that reports each call after it has ended, with or without an answer. A
/// call whose task was destroyed is not reported. May be called from any thread.
/// @param on_call runs on the thread of the call, and on several threads at once if calls are
/// concurrent; must not be null
[[nodiscard]] model_middleware_ptr
make_logging_middleware(std::function<void(const model_call_record&)> on_call);

/// Creates a middleware that stores answers in memory. If an equal request follows, it returns the
/// stored answer and does not ask the model. May be called from any thread.
///
/// Two requests are equal if their system text, messages (except ids), tools, parameters and
/// required format are equal. Only answers of complete() are stored and returned, not errors and
/// not streamed answers. Do not use it if equal requests must get different answers.
///
/// @param answers_max maximum number of stored answers, at least 1; the least recently used one is
/// removed first
[[nodiscard]] model_middleware_ptr make_caching_middleware(std::size_t answers_max);

/// Creates a middleware that repairs native tool calls. In a streamed answer, a valid call is
/// reported when it is complete, and a repaired call at the end of the answer. May be called from
/// any thread.
///
/// Arguments that are not valid JSON are parsed again with comments, single quotes, unquoted words
/// and trailing commas allowed. Arguments of known tools are then converted to the types of the
/// tool's schema where the intention is clear, e.g. "5" to 5.
[[nodiscard]] model_middleware_ptr make_repair_middleware();

/// The treatment of a tool call without an end, for example without its close tag.
///
/// It applies only if the model ended the answer itself. If the server cut the answer (for example
/// `finish_reason: length`), an unclosed call is always refused.
enum class unclosed_calls {
  /// In a stream: run the call if its text can be parsed; models often forget the close tag. In a
  /// complete answer, only qwen3_coder does this; the other protocols treat the open tag as text.
  complete,
  refuse, ///< make it an invalid call; see agent_options::answer_invalid_calls
};

/// Options of make_protocol_middleware().
struct protocol_options {
  tool_protocol_ptr protocol{}; ///< the format of the calls; must not be null
  /// Returns the system text that describes the tools. If null, tool_protocol::prompt() is used.
  /// Called for each request with tools, and by any thread; also called with an empty list of
  /// tools, for the fingerprint.
  std::function<std::string(const tool_protocol&, const std::vector<protocol_tool>&)> prompt{};
  /// Maximum number of additional requests for one answer. The model is asked again, with the
  /// fault, if a call cannot be parsed and the answer has no valid call. Streamed answers are never
  /// requested again, because their parts have already been reported.
  std::uint32_t retries = 1;
  stream_options stream{};                            ///< options of the parser of streamed answers
  unclosed_calls unclosed = unclosed_calls::complete; ///< how to treat calls without an end
  /// Maximum number of calls in one answer, including invalid ones; not set: no limit. An answer
  /// with more calls is the error `model_errc::bad_answer`. A stream stops reporting before the
  /// first call above the limit. The parsers have a limit of their own; see docs/protocols.md.
  std::optional<std::size_t> calls_max = 1'000;
  /// Receives every part of an answer that could not be parsed as a call; may be null. Called on
  /// the thread that resumes the task of that answer.
  protocol_error_handler on_error{};
};

/// Creates a middleware that adds tool calls to a model whose server does not support them. The
/// tools and earlier calls are written into the request as text, and calls are parsed from the text
/// of the answer. The id of a call is computed from the run, the turn and its position, so a
/// replayed run has the same ids. May be called from any thread.
///
/// The parameter `tool_choice` is replaced as follows and not sent:
/// - `auto` or absent: the model decides.
/// - `none`: the tools are omitted from the request.
/// - `any` or `required`, the name of a tool, or an object that names one, such as
///   `{type: function, function: {name}}`: the parameter `response_format` requests the call as
///   JSON, and that JSON becomes the call.
///
/// Any other `tool_choice` is an error of code `errc::invalid_argument`. The parameter
/// `parallel_tool_calls` is removed.
[[nodiscard]] model_middleware_ptr make_protocol_middleware(protocol_options options);

/// Sends one request to the model with make_protocol_middleware(), for options that apply to this
/// request only. May be called from any thread.
/// @param model the model without tool calls, not null; the task shares its ownership
/// @param options as for make_protocol_middleware()
/// @param request the conversation and the tools
/// @return the answer with its calls, or the error of the middleware or the model
[[nodiscard]] task<result<message>>
complete_with_protocol(chat_model_ptr model, protocol_options options, model_request request);

} // namespace superstep
