// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/models/model_journal.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/recorded_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/models/structured_model.hpp>
#include <superstep/tools/calculator.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/current_time.hpp>
#include <superstep/tools/http_get.hpp>
#include <superstep/tools/human_review.hpp>
#include <superstep/tools/memory_tools.hpp>
#include <superstep/tools/read_file.hpp>
#include <superstep/tools/simulated.hpp>
#include <superstep/tools/sqlite_query.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace superstep {

/// Where the answers come from; the provider is told by the type.
using model_spec = std::variant<std::monostate, recorded_model_options, scripted_model_options,
                                provider_model_options, replayed_model_options>;

/// Another agent file as a tool.
struct sub_agent_options {
  std::string name;
  std::string description; ///< what the model reads; empty: that it asks that agent
  std::string file;
  std::int64_t timeout_ms = 0; ///< of one call; 0: none
};

/// One tool of an agent file and where it stands there.
struct tool_spec {
  std::variant<calculator_options, current_time_options, http_get_options, sqlite_query_options,
               read_file_options, command_options, simulated_options, remember_options,
               recall_options, sub_agent_options>
      options;
  std::size_t line = 0;
  std::string key; ///< dotted path, e.g. `tools.0`
  tool_effects effects = tool_effects::repeatable;
};

/// A tool whose calls wait for a person in a conversation, and where the file says so.
struct review_spec {
  std::string tool;
  human_interrupt_config config;
  std::size_t line = 0;
  std::string key; ///< dotted path, e.g. `review.book`
};

/// Lets the model read the latest turns of a long conversation.
struct trim_spec {
  std::int64_t tokens_max = 8'000; ///< an estimate
};

/// Puts a summary in the place of the older turns of a long conversation.
struct summary_spec {
  std::int64_t tokens_max = 8'000; ///< an estimate; when there are more, it is summarised
  std::size_t messages_kept = 20;  ///< at least, and to the beginning of their turn
  std::string prompt = "Summarise the conversation. Keep names, numbers, decisions and what is "
                       "still to be done. Answer with the summary alone.";
};

/// Bounds over all runs of one process; 0 = no limit.
struct agent_limits {
  std::size_t model_calls = 256;             ///< calls in flight
  std::size_t tool_calls = 256;              ///< calls in flight
  std::int64_t rpm = 0;                      ///< model requests per minute
  std::int64_t tpm = 0;                      ///< model tokens per minute, in and out
  std::size_t calls_per_answer = 1'000; ///< tool calls in one answer of the model
  std::size_t answer_bytes = 64 * 1024 * 1024; ///< of answers that are being received
  bool adaptive = true; ///< fewer model calls in flight while the provider refuses some
  std::chrono::milliseconds row_deadline{0}; ///< of a whole run
};

/// An agent as its file describes it; see docs/agent-file.md for every key.
struct agent_spec {
  std::string name;
  model_spec model;
  std::string record;   ///< journal that the model's answers go to; empty: none
  std::string protocol; ///< of tool calls in text; empty: the model has its own
  std::uint32_t protocol_retries = 1;
  unclosed_calls protocol_unclosed = unclosed_calls::complete;
  std::string prompt;
  react_version version = react_version::v2;
  std::uint32_t recursion_limit = 25;
  std::vector<tool_spec> tools;
  std::string tools_text; ///< `tools` as canonical JSON: options that no definition shows
  std::vector<std::string> early_tools; ///< names; see agent_options
  std::size_t early_tools_line = 0;
  std::vector<review_spec> reviews;
  std::optional<trim_spec> trim; ///< at most one of these two
  std::optional<summary_spec> summarise;
  std::size_t hooks_line = 0;
  std::optional<json::object> response; ///< the schema of the value that each answer ends with
  structured_method response_method = structured_method::json_schema;
  std::size_t response_line = 0;
  std::string store; ///< database of the long-term memory; empty: none
  std::size_t store_line = 0;
  agent_limits limits;
  std::string file; ///< as the caller named it; for messages
  std::size_t model_line = 0;
};

} // namespace superstep
