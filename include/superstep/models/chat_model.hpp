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

/// What an answer must be: JSON that matches a schema.
struct answer_schema {
  std::string name = "answer";
  std::string description;
  json::object schema;
  bool is_strict = true; ///< the provider is to hold the model to it, where it can
};

/// Told of each piece of an answer as it comes, between suspensions of the call's task and never by
/// two threads at once. Must not block.
using chunk_handler = std::function<void(const message_chunk&)>;

/// One question to a model. Owned by the call; the messages share structure with the state.
struct model_request {
  message_ptr system;    ///< read before the messages; null: none. Apart from them, because the
                         ///< list is the state's own and is shared, not copied, at every turn
  message_list messages; ///< what the model reads
  tool_definitions tools;
  std::string run_key;    ///< key of the row or run: what `recorded` looks up
  std::uint32_t turn = 0; ///< number of the model's call in this run, from 0
  /// Overrides of the model's own: temperature, max_tokens, model, …; and how the tools are bound:
  /// tool_choice (a tool's name, auto, any, none), parallel_tool_calls.
  json::object parameters;
  std::shared_ptr<const answer_schema> format; ///< of the answer's text; null: any
  /// When it is set, a model that can stream does, and what was told adds up to the message. An
  /// answer that breaks off after the first piece is an error at once: asked again, the model would
  /// say something else.
  chunk_handler on_chunk;
};

/// A chat model. Immutable for its callers and shared by all runs.
///
/// complete() may be awaited by any number of actors at once. All waiting is suspended, not
/// blocked. An error is final: the model has done its own retries. The message is of type ai; its
/// usage is set when the provider told it.
class chat_model {
public:
  virtual ~chat_model() = default;
  [[nodiscard]] virtual task<result<message>> complete(model_request request) const = 0;
  /// What guards a journal against another model: provider, name, parameters, content of its files.
  /// Holds no key and no secret.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
};

using chat_model_ptr = std::shared_ptr<const chat_model>;

} // namespace superstep
