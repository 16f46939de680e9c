// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace superstep {

/// Selects the technique that makes a model answer with JSON.
enum class structured_method : std::uint8_t {
  json_schema, ///< the provider enforces the schema
  tool_call,   ///< a tool that the model must call; Ollama cannot enforce this
  /// The provider's JSON mode. The provider does not see the schema, so the messages must describe
  /// it. OpenAI also requires that they contain the word "JSON". Anthropic has no JSON mode.
  json_object,
};

/// An answer parsed as JSON.
struct structured_answer {
  message raw;        ///< the model's answer
  json::value parsed; ///< parsed answer; null if `fault` is set
  std::string fault;  ///< why the answer does not match; empty if it does
};

/// A model whose answers are parsed and checked against a schema. Copies share the model.
/// @par Threads
/// All members may be called by any number of threads.
class structured_model {
public:
  /// Wraps a model without checking the schema; with_structured_output() checks it first.
  /// @param model shared by this object; must not be null
  /// @param schema the schema of the answers
  /// @param method how the model is made to answer in JSON
  structured_model(chat_model_ptr model, answer_schema schema, structured_method method);

  /// Sends a request whose answer must match the schema. Overrides the format of the request, or
  /// for structured_method::tool_call its tools and `tool_choice`. Destroying the task cancels the
  /// request; this object need not outlive it.
  /// @return the answer; `fault` is set if it does not match the schema. The error of
  /// chat_model::complete() if the model fails
  [[nodiscard]] task<result<structured_answer>> complete(model_request request) const;
  /// Sends one request outside of a graph, like superstep::ask().
  /// @return as complete(), or the error of model_input::messages() for an invalid input
  [[nodiscard]] task<result<structured_answer>> ask(model_input input) const;

private:
  chat_model_ptr model_;
  std::shared_ptr<const answer_schema> schema_;
  structured_method method_;
};

/// Returns a model whose answers match a schema. May be called from any thread.
///
/// @param model shared by the returned object; must not be null
/// @param schema a named JSON Schema of type object, the only type that providers accept
/// @param method how the model is made to answer in JSON
/// @return the model; model_errc::bad_configuration for another type, or for a schema without a
/// name
///
/// Source: `BaseChatModel.with_structured_output` in langchain-core 1.7.2,
/// language_models/chat_models.py.
[[nodiscard]] result<structured_model>
with_structured_output(chat_model_ptr model, answer_schema schema,
                       structured_method method = structured_method::json_schema);

} // namespace superstep
