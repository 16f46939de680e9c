// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace superstep {

/// Which results of tools the model no longer reads.
struct context_editing_options {
  std::int64_t tokens_max = 100'000; ///< a longer conversation is edited
  std::size_t keep = 3;              ///< the newest results stay
  std::int64_t clear_at_least = 0;   ///< stops when so many tokens are saved; 0: clears all it may
  bool clear_inputs = false;         ///< also empties the arguments of those calls
  std::vector<std::string> exclude_tools{};
  std::string placeholder = "[cleared]";
  token_counter count = approximate_tokens{};
};

/// The conversation with old results of tools cleared; as it is when it is short enough.
[[nodiscard]] message_list clear_tool_results(message_list messages,
                                              const context_editing_options& options);

/// Lets the model read that in place of the conversation; the state keeps everything.
[[nodiscard]] message_middleware context_editing(context_editing_options options = {});

} // namespace superstep
