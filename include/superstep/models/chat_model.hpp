// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>
#include <superstep/messages/message_chunk.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/messages/tool_definition.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace superstep {

/// Requires an answer to be JSON that matches a schema.
struct answer_schema {
  std::string name = "answer";
  std::string description;
  json::object schema;
  bool is_strict = true; ///< whether the provider must enforce the schema, if it can
};

/// Receives each piece of a streamed answer. Called between suspensions of the call's task, never
/// by two threads at the same time. It runs on the thread of the call and must not block.
using chunk_handler = std::function<void(const message_chunk&)>;

/// One request to a model. Owned by the call; the messages share their memory with the state.
struct model_request {
  /// Precedes the messages; null if there is no system prompt. A separate member because the list
  /// belongs to the state: prepending to it would copy it in every turn.
  message_ptr system;
  message_list messages;  ///< the conversation that the model reads
  tool_definitions tools; ///< tools that the model may call; null: none
  std::string run_key;    ///< key of the row or run, for `recorded` models and jitter
  std::uint32_t turn = 0; ///< number of the model call in this run, from 0
  /// Overrides the model's own parameters: temperature, max_tokens, model, …. Also configures the
  /// tools: tool_choice (a tool's name, auto, any, none) and parallel_tool_calls.
  json::object parameters;
  std::shared_ptr<const answer_schema> format; ///< required format of the answer; null: any text
  /// If set, a model that can stream does so, and the pieces add up to the returned message. An
  /// answer that breaks off after its first piece is an error at once, because another attempt
  /// would produce a different text.
  chunk_handler on_chunk;
};

/// A chat model: the interface of all providers, recordings, scripts and wrappers.
///
/// Immutable after construction and shared by all runs.
class chat_model {
public:
  /// Destroys the model. No task of complete() may be alive.
  virtual ~chat_model() = default;
  /// Sends one request to the model and returns its answer.
  ///
  /// All waiting suspends the returned task; implementations must not block, because one thread of
  /// the engine drives many calls. Retries, rate limits and timeouts are the implementation's
  /// responsibility, so a returned error is final: callers do not repeat the request.
  ///
  /// @param request the conversation, the available tools and the parameters of this call
  /// @return a message of type ai:
  /// - `tool_calls` contains the tool calls with parsed arguments. A call with unreadable arguments
  ///   is in `invalid_tool_calls` and is not an error of complete().
  /// - `usage` is set if the provider reports token counts.
  /// - `id` may be empty; the reducer add_messages then assigns one.
  ///
  /// On failure, an error. Its code is usually a model_errc; wrappers add codes of their own, e.g.
  /// errc::io_failed of record_model(). A shortage of descriptors or memory is errc::shortage or
  /// one of the codes that is_shortage() recognises.
  /// @par Streaming
  /// If request.on_chunk is set and the model can stream, each piece is passed to it before
  /// complete() returns. The pieces, added with append(), equal the returned message. A model that
  /// cannot stream does not call it.
  /// @par Cancellation
  /// Destroying the task cancels the call. Its connection is closed, and its place in the limits is
  /// released. No further piece is passed to on_chunk.
  /// @par Threads
  /// May be called by any thread, and any number of calls may be in flight at once. Each task runs
  /// only in the executor that awaits it.
  /// @par Lifetime
  /// The model must outlive the task, so callers keep a chat_model_ptr until the task has ended.
  ///
  /// Source: `BaseChatModel.ainvoke` in langchain-core 1.7.2, language_models/chat_models.py.
  [[nodiscard]] virtual task<result<message>> complete(model_request request) const = 0;

  /// Returns a text that identifies the model: provider, name, parameters, and a hash of its files.
  /// Batch jobs store it to detect that a job is continued with a different model. Contains no API
  /// key or other secret. May be called by any thread.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
};

/// A shared, immutable model.
using chat_model_ptr = std::shared_ptr<const chat_model>;

} // namespace superstep
