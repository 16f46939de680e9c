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

/// The model of an agent file: the type of its options selects the kind of model. monostate if the
/// file has no valid `model`.
using model_spec = std::variant<std::monostate, recorded_model_options, scripted_model_options,
                                provider_model_options, replayed_model_options>;

/// The options of a tool that is another agent file.
struct sub_agent_options {
  std::string name;            ///< of the tool
  std::string description;     ///< for the model; empty: a default text with the agent's name
  std::string file;            ///< path of the agent file
  std::int64_t timeout_ms = 0; ///< of one call; 0: none
};

/// One tool of an agent file, with its place in the file for error messages.
struct tool_spec {
  std::variant<calculator_options, current_time_options, http_get_options, sqlite_query_options,
               read_file_options, command_options, simulated_options, remember_options,
               recall_options, sub_agent_options>
      options;
  std::size_t line = 0;                            ///< line number from 1
  std::string key;                                 ///< dotted path, e.g. `tools.0`
  tool_effects effects = tool_effects::repeatable; ///< whether a call may be repeated
};

/// A tool whose calls a person reviews before they run, with its place in the file.
struct review_spec {
  std::string tool;              ///< name of the tool
  human_interrupt_config config; ///< the answers that the person may give
  std::size_t line = 0;          ///< line number from 1
  std::string key;               ///< dotted path, e.g. `review.book`
};

/// Options of the hook `trim`: the model reads only the latest turns of a long conversation.
struct trim_spec {
  std::int64_t tokens_max = 8'000; ///< estimated tokens of the turns that the model reads
};

/// Options of the hook `summarise`: a summary replaces the older turns of a long conversation.
struct summary_spec {
  std::int64_t tokens_max = 8'000; ///< estimated tokens above which a summary is made
  std::size_t messages_kept = 20;  ///< newest messages to keep, extended to the start of their turn
  std::string prompt = "Summarise the conversation. Keep names, numbers, decisions and what is "
                       "still to be done. Answer with the summary alone.";
};

/// Limits of an agent over all its runs in one process; 0 = no limit.
struct agent_limits {
  std::size_t model_calls = 256;               ///< model calls in flight
  std::size_t tool_calls = 256;                ///< tool calls in flight
  std::int64_t rpm = 0;                        ///< model requests per minute
  std::int64_t tpm = 0;                        ///< model tokens per minute, input and output
  std::size_t calls_per_answer = 1'000;        ///< tool calls in one answer of the model
  std::size_t answer_bytes = 64 * 1024 * 1024; ///< bytes of answers that are being received
  bool adaptive = true; ///< reduces the model calls in flight while the provider is overloaded
  std::chrono::milliseconds row_deadline{0}; ///< duration of one run
};

/// The content of an agent file; docs/agent-file.md describes every key. Members whose names end in
/// `_line` are line numbers for error messages.
struct agent_spec {
  std::string name;
  model_spec model;
  std::string record;   ///< journal file that records the model's answers; empty: none
  std::string protocol; ///< format of tool calls in plain text; empty: the model's own API
  std::uint32_t protocol_retries = 1;
  unclosed_calls protocol_unclosed = unclosed_calls::complete;
  std::string prompt; ///< system prompt; empty: none
  react_version version = react_version::v2;
  std::uint32_t recursion_limit = 25; ///< maximum number of super-steps per run
  std::vector<tool_spec> tools;
  std::string tools_text; ///< `tools` as canonical JSON; includes options no definition contains
  std::vector<std::string> early_tools; ///< names; see agent_options::early_tools
  std::size_t early_tools_line = 0;
  std::vector<review_spec> reviews; ///< tools whose calls are reviewed
  std::optional<trim_spec> trim;    ///< at most one of `trim` and `summarise` is set
  std::optional<summary_spec> summarise;
  std::size_t hooks_line = 0;
  std::optional<json::object> response; ///< JSON Schema of the structured response
  structured_method response_method = structured_method::json_schema;
  std::size_t response_line = 0;
  std::string store; ///< path of the long-term memory's database; empty: none
  std::size_t store_line = 0;
  agent_limits limits;
  std::string file; ///< path of the agent file as given by the caller; for messages
  std::size_t model_line = 0;
};

} // namespace superstep
