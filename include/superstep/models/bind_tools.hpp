// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <optional>
#include <string>

namespace superstep {

/// Options for binding tools to a model. The provider's default applies to unset members.
struct tool_binding {
  /// A tool's name, "auto", "any" or "none"; empty: the provider's default.
  std::string choice;
  std::optional<bool> parallel; ///< whether an answer may contain several calls
  /// Whether arguments must match the schemas. OpenAI requires all parameters of strict tools to be
  /// listed as required. Not sent to Ollama, whose API has no such member.
  std::optional<bool> strict;
};

/// Returns a model that offers these tools in every request. Tools and parameters of a request take
/// precedence over the binding.
///
/// @param model shared by the returned model; must not be null
/// @param tools must not be null
/// @return model_errc::bad_configuration if `binding.choice` is neither a keyword nor the name of a
/// tool
/// Source: `BaseChatModel.bind_tools` in langchain-core 1.7.2, language_models/chat_models.py.
[[nodiscard]] result<chat_model_ptr> bind_tools(chat_model_ptr model, tool_definitions tools,
                                                tool_binding binding = {});

/// Returns the tools if `model` was returned by bind_tools(), else null. Does not look inside
/// wrappers such as with_retry().
[[nodiscard]] tool_definitions bound_tools(const chat_model& model) noexcept;

/// Returns a model that adds these parameters to every request. Parameters of a request take
/// precedence.
[[nodiscard]] chat_model_ptr bind_parameters(chat_model_ptr model, json::object parameters);

} // namespace superstep
