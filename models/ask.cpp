// SPDX-License-Identifier: Apache-2.0
// ask(): one request to a model without a graph.
#include "models/whole_chunk.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>

#include <string>
#include <utility>

namespace superstep {

model_input::model_input(const char* text) : given_{std::string{text}} {}
model_input::model_input(std::string text) : given_{std::move(text)} {}
model_input::model_input(message one) : given_{message_list{std::move(one)}} {}
model_input::model_input(message_list messages) : given_{std::move(messages)} {}
model_input::model_input(json::value messages) : given_{std::move(messages)} {}

result<message_list> model_input::messages() && {
  if (auto* text = std::get_if<std::string>(&given_))
    return message_list{human_message(std::move(*text))};
  if (auto* list = std::get_if<message_list>(&given_))
    return std::move(*list);
  return messages_from_json(std::get<json::value>(given_));
}

task<result<message>> ask(chat_model_ptr model, model_input input) {
  return ask(std::move(model), std::move(input), nullptr);
}

task<result<message>> ask(chat_model_ptr model, model_input input, chunk_handler on_chunk) {
  SUPERSTEP_ASSERT(model != nullptr);
  auto messages = std::move(input).messages();
  if (!messages)
    co_return messages.error();
  auto request = model_request{};
  request.messages = *std::move(messages);
  auto was_streamed = false;
  // Records whether the model has streamed. If it has not, the answer is passed on as one piece.
  if (on_chunk)
    request.on_chunk = [&](const message_chunk& piece) {
      was_streamed = true;
      on_chunk(piece);
    };
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (answer && on_chunk && !was_streamed)
    on_chunk(models::whole_chunk(*answer));
  co_return answer;
}

} // namespace superstep
