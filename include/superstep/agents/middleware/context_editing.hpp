// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace superstep {

/// Selects the tool results that are hidden from the model.
struct context_editing_options {
  std::int64_t tokens_max = 100'000; ///< conversations with more tokens are edited
  std::size_t keep = 3;              ///< number of newest results to keep
  std::int64_t clear_at_least = 0;   ///< stop after saving this many tokens; 0: clear all allowed
  bool clear_inputs = false;         ///< whether to clear the arguments of the calls as well
  std::vector<std::string> exclude_tools{}; ///< names of tools whose results are kept
  std::string placeholder = "[cleared]";    ///< text that replaces a result
  token_counter count = approximate_tokens{};
};

/// Returns the conversation with old tool results cleared; unchanged if it is short enough.
[[nodiscard]] message_list clear_tool_results(message_list messages,
                                              const context_editing_options& options);

/// Makes a middleware that edits the conversation that the model reads; the state stays unchanged.
/// Source: `ContextEditingMiddleware` in langchain 1.4.7, agents/middleware/context_editing.py.
[[nodiscard]] message_middleware context_editing(context_editing_options options = {});

} // namespace superstep
