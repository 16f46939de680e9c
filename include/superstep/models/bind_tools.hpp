// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <optional>
#include <string>

namespace superstep {

/// How tools are bound to a model. What is not set is left to the provider.
struct tool_binding {
  std::string choice;           ///< a tool's name, "auto", "any" or "none"
  std::optional<bool> parallel; ///< whether an answer may hold several calls
  /// Whether arguments must match the schemas. For strict tools of OpenAI all parameters are
  /// required. Ollama has no such member.
  std::optional<bool> strict;
};

/// The model with these tools. A request that brings tools of its own is asked with those, and
/// parameters of a request go over the binding. A choice that names no tool is refused.
[[nodiscard]] result<chat_model_ptr> bind_tools(chat_model_ptr model, tool_definitions tools,
                                                tool_binding binding = {});

/// The tools that bind_tools() gave this very model; null when it gave none.
[[nodiscard]] tool_definitions bound_tools(const chat_model& model) noexcept;

/// The model with these parameters under those of each request.
[[nodiscard]] chat_model_ptr bind_parameters(chat_model_ptr model, json::object parameters);

} // namespace superstep
