// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <string>
#include <utility>
#include <variant>

namespace superstep {

/// The input of a model outside of a graph, implicitly constructed from a text (a human message), a
/// message, a list of messages, or JSON in any form that messages_from_json() reads.
class model_input {
public:
  model_input(const char* text) : given_{std::string{text}} {}
  model_input(std::string text) : given_{std::move(text)} {}
  model_input(message one) : given_{message_list{std::move(one)}} {}
  model_input(message_list messages) : given_{std::move(messages)} {}
  model_input(json::value messages) : given_{std::move(messages)} {}

  /// Returns the conversation; an error if the JSON is not a valid message or list of messages.
  [[nodiscard]] result<message_list> messages() &&;

private:
  std::variant<std::string, message_list, json::value> given_;
};

/// Sends one request to a model, outside of any graph.
///
/// @param model kept alive by the task; must not be null
/// @return the answer, or the error of the input or of the model; see chat_model::complete()
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input);
/// Sends one request and streams the answer.
///
/// @param on_chunk called for each piece as it arrives; once with the whole answer if the model
/// cannot stream. See chunk_handler for its constraints.
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input,
                                        chunk_handler on_chunk);

} // namespace superstep
