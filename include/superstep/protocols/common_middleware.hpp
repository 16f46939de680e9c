// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/model_middleware.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace superstep {

/// Parameters for requests that do not set them themselves.
[[nodiscard]] model_middleware_ptr make_defaults_middleware(json::object parameters);

/// One line of a log: what was asked, and what came of it.
struct model_call_record {
  std::string run_key;
  std::uint32_t turn = 0;
  std::size_t messages = 0;
  std::size_t tools = 0;
  bool is_stream = false;
  std::string error;                ///< empty: answered
  std::optional<token_usage> usage; ///< of the answer
  std::size_t tool_calls = 0;       ///< in the answer
};
/// @param on_call told when a call has ended; from any thread
[[nodiscard]] model_middleware_ptr
make_logging_middleware(std::function<void(const model_call_record&)> on_call);

/// Answers of requests that were asked before, word for word, are given without asking again;
/// those used longest ago are forgotten first. Errors and streams are not kept. Where a model is
/// meant to give different answers to the same question, this is not for it.
/// @param answers_max how many are kept; at least 1
[[nodiscard]] model_middleware_ptr make_caching_middleware(std::size_t answers_max);

/// Calls whose arguments are no JSON are read as relaxed JSON, and arguments are bent to the schema
/// of their tool: for models with tool calls of their own that are careless with them.
[[nodiscard]] model_middleware_ptr make_repair_middleware();

} // namespace superstep
