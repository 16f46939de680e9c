// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <string>
#include <utility>
#include <variant>

namespace superstep {

/// What people hand to a model: a text, a message, a list of messages, or JSON in any form that
/// messages_from_json() reads (dictionaries, pairs of role and text).
class model_input {
public:
  model_input(const char* text) : given_{std::string{text}} {}
  model_input(std::string text) : given_{std::move(text)} {}
  model_input(message one) : given_{message_list{std::move(one)}} {}
  model_input(message_list messages) : given_{std::move(messages)} {}
  model_input(json::value messages) : given_{std::move(messages)} {}

  [[nodiscard]] result<message_list> messages() &&;

private:
  std::variant<std::string, message_list, json::value> given_;
};

/// Asks a model outside of any graph. The task holds the model.
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input);
/// The same, and tells the answer while it comes; a model that cannot stream tells it whole.
[[nodiscard]] task<result<message>> ask(chat_model_ptr model, model_input input,
                                        chunk_handler on_chunk);

} // namespace superstep
