// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// A chat model that also tells of its answer while it comes.
class streaming_chat_model : public chat_model {
public:
  /// As complete(). `on_event` is called between suspensions of the task, never at once from two
  /// threads; what it was told adds up to the message.
  [[nodiscard]] virtual task<result<message>> stream(model_request request,
                                                     protocol_event_handler on_event) const = 0;
};
using streaming_chat_model_ptr = std::shared_ptr<const streaming_chat_model>;

/// What stands behind a middleware: the model, or the next middleware.
using generate_function = std::function<task<result<message>>(model_request)>;
using stream_function = std::function<task<result<message>>(model_request, protocol_event_handler)>;

/// Something between an agent and its model, with three hooks. Each does nothing unless overridden.
///
/// Immutable and shared by all calls; outlives the tasks it made.
class model_middleware {
public:
  virtual ~model_middleware() = default;
  /// What a journal must know of it: whatever changes answers. No secrets; empty: nothing.
  [[nodiscard]] virtual std::string fingerprint() const { return {}; }
  /// Changes a request before anything else happens to it.
  [[nodiscard]] virtual result<model_request> transform(model_request request) const {
    return request;
  }
  /// Stands around a whole answer.
  /// @param asked the request before transform()
  /// @param request after it
  /// @param next may be called any number of times, or never
  [[nodiscard]] virtual task<result<message>>
  wrap_generate(model_request asked, model_request request, generate_function next) const;
  /// The same around an answer that comes in pieces.
  [[nodiscard]] virtual task<result<message>> wrap_stream(model_request asked,
                                                          model_request request,
                                                          stream_function next,
                                                          protocol_event_handler on_event) const;
};
using model_middleware_ptr = std::shared_ptr<const model_middleware>;

/// The model with all that stands before it; the first is the one that sees a request first.
///
/// A model without stream() of its own tells its answer at once when it is complete.
[[nodiscard]] streaming_chat_model_ptr wrap_model(chat_model_ptr model,
                                                  std::vector<model_middleware_ptr> middleware);

} // namespace superstep
