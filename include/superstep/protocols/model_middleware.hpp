// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
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

} // namespace superstep
