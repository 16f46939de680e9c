// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace superstep {

/// Selects the technique that makes a model answer with JSON.
enum class structured_method : std::uint8_t {
  json_schema, ///< the provider's own mode
  tool_call,   ///< a tool that the model must call; Ollama cannot enforce this
  /// The provider's JSON mode. The provider does not see the schema, so the conversation must
  /// describe it; OpenAI also requires the word "JSON" there. Anthropic has no such mode.
  json_object,
};

/// An answer parsed as JSON.
struct structured_answer {
  message raw;
  json::value parsed; ///< null if `fault` is set
  std::string fault;  ///< why the answer does not match; empty if it does
};

/// A model whose answers are parsed and checked against a schema. Copies share the model.
/// @par Threads
/// All members may be called by any number of threads.
class structured_model {
public:
  /// @pre `model` is not null; use with_structured_output() to validate the schema
  structured_model(chat_model_ptr model, answer_schema schema, structured_method method);

  /// Sends a request whose answer must match the schema. Returns an error only if the model fails;
  /// an answer that does not match is returned with `fault` set. Overrides request.format or the
  /// request's tools.
  [[nodiscard]] task<result<structured_answer>> complete(model_request request) const;
  /// Sends one request outside of a graph; errors as for complete(), or for invalid input.
  [[nodiscard]] task<result<structured_answer>> ask(model_input input) const;

private:
  chat_model_ptr model_;
  std::shared_ptr<const answer_schema> schema_;
  structured_method method_;
};

/// Returns a model whose answers match a schema.
///
/// @param schema a named JSON Schema of type object, the only type that providers accept
/// @return model_errc::bad_configuration for another type, or for a schema without a name
/// Source: `BaseChatModel.with_structured_output` in langchain-core 1.7.2,
/// language_models/chat_models.py.
[[nodiscard]] result<structured_model>
with_structured_output(chat_model_ptr model, answer_schema schema,
                       structured_method method = structured_method::json_schema);

} // namespace superstep
