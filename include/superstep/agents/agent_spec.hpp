// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/react_agent.hpp>
#include <superstep/models/model_journal.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/recorded_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/tools/calculator.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/current_time.hpp>
#include <superstep/tools/http_get.hpp>
#include <superstep/tools/read_file.hpp>
#include <superstep/tools/simulated.hpp>
#include <superstep/tools/sqlite_query.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace superstep {

/// Where the answers come from; the provider is told by the type.
using model_spec = std::variant<std::monostate, recorded_model_options, scripted_model_options,
                                provider_model_options, replayed_model_options>;

/// One tool of an agent file and where it stands there.
struct tool_spec {
  std::variant<calculator_options, current_time_options, http_get_options, sqlite_query_options,
               read_file_options, command_options, simulated_options>
      options;
  std::size_t line = 0;
  std::string key; ///< dotted path, e.g. `tools.0`
};

/// Bounds over all runs of one process; 0 = no limit.
struct agent_limits {
  std::size_t model_calls = 256;             ///< calls in flight
  std::size_t tool_calls = 256;              ///< calls in flight
  std::int64_t rpm = 0;                      ///< model requests per minute
  std::int64_t tpm = 0;                      ///< model tokens per minute, in and out
  std::chrono::milliseconds row_deadline{0}; ///< of a whole run
};

/// An agent as its file describes it; see docs/agent-file.md for every key.
struct agent_spec {
  std::string name;
  model_spec model;
  std::string record;   ///< journal that the model's answers go to; empty: none
  std::string protocol; ///< of tool calls in text; empty: the model has its own
  std::uint32_t protocol_retries = 1;
  std::string prompt;
  react_version version = react_version::v2;
  std::uint32_t recursion_limit = 25;
  std::vector<tool_spec> tools;
  std::string tools_text; ///< `tools` as canonical JSON: options that no definition shows
  agent_limits limits;
  std::string file; ///< as the caller named it; for messages
  std::size_t model_line = 0;
};

} // namespace superstep
