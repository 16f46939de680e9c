// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/ask.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace superstep {

/// How a model is brought to answer with JSON.
enum class structured_method : std::uint8_t {
  json_schema, ///< the provider's own mode
  tool_call,   ///< a tool that the model must call; Ollama's models cannot be made to
};

/// An answer that is JSON.
struct structured_answer {
  message raw;
  json::value parsed; ///< null when there is a fault
  std::string fault;  ///< why the answer is not what was asked for; empty: it is
};

/// A model whose answers match a schema. Copies share the model.
class structured_model {
public:
  structured_model(chat_model_ptr model, answer_schema schema, structured_method method);

  /// An error when the model gives none. An answer that does not match is no error of the model's:
  /// its `fault` says what is wrong with it.
  [[nodiscard]] task<result<structured_answer>> complete(model_request request) const;
  [[nodiscard]] task<result<structured_answer>> ask(model_input input) const;

private:
  chat_model_ptr model_;
  std::shared_ptr<const answer_schema> schema_;
  structured_method method_;
};

/// Refuses a schema that is not of type object: no provider takes another.
[[nodiscard]] result<structured_model>
with_structured_output(chat_model_ptr model, answer_schema schema,
                       structured_method method = structured_method::json_schema);

} // namespace superstep
