// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/recorded_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/models/structured_model.hpp>
#include <superstep/net/io_runtime.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/human_review.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  std::optional<std::chrono::milliseconds> timeout{}; ///< of one call; unset: none
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

/// One thing wrong with an agent file.
struct agent_fault {
  std::string file;     ///< "--set" when an override is to blame
  std::size_t line = 0; ///< from 1; 0: no line of a file
  std::string key;      ///< dotted path, e.g. `tools.1.command.argv`
  std::string text;

  friend bool operator==(const agent_fault&, const agent_fault&) = default;
};

/// `agent.yaml:7: model.path: is missing; it is required`
[[nodiscard]] std::string to_text(const agent_fault&);
/// One fault per line.
[[nodiscard]] std::string to_text(const std::vector<agent_fault>&);

/// What an agent file says, and everything wrong with it. The spec may be used only when there is
/// no fault.
struct agent_reading {
  agent_spec spec;
  std::vector<agent_fault> faults;
};

/// Largest agent file.
inline constexpr std::size_t agent_file_bytes_max = std::size_t{1} << 20;

/// Reads an agent file; docs/agent-file.md is the format. `overrides` are `key.path=value` texts:
/// the value is YAML and takes the place of what the file says; numbers index lists.
/// Relative paths in it, and in the overrides, are taken from the folder of the file.
[[nodiscard]] agent_reading read_agent_file(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

/// The same for text that stands in no file; relative paths are taken from `folder`.
[[nodiscard]] agent_reading read_agent_text(std::string_view text, const std::string& name,
                                            const std::string& folder,
                                            const std::vector<std::string>& overrides = {});

class agent;

/// An agent that another one calls as a tool.
struct sub_agent {
  std::string tool; ///< its name
  std::shared_ptr<const superstep::agent> agent;
};

/// An agent that is ready to run: what its file says, with model and tools made.
///
/// Immutable and cheap to copy; the io_runtime it was made with outlives its runs.
class agent {
public:
  /// @param sub_agents which of the tools are agents
  agent(agent_spec spec, chat_model_ptr model, tool_list tools,
        std::vector<sub_agent> sub_agents = {});

  [[nodiscard]] const agent_spec& spec() const noexcept { return spec_; }
  [[nodiscard]] const chat_model_ptr& model() const noexcept { return model_; }
  [[nodiscard]] const tool_list& tools() const noexcept { return tools_; }
  [[nodiscard]] const std::vector<sub_agent>& sub_agents() const noexcept { return sub_agents_; }
  [[nodiscard]] const compiled_graph<chat_state>& graph() const noexcept { return graph_; }

  // What guards the journal of a job: texts that differ when results may differ.
  [[nodiscard]] std::string fingerprint() const;       ///< prompt, version, limits of a run
  [[nodiscard]] std::string tools_fingerprint() const; ///< definitions of the tools, sub-agents

private:
  agent_spec spec_;
  chat_model_ptr model_;
  tool_list tools_;
  std::vector<sub_agent> sub_agents_;
  compiled_graph<chat_state> graph_;
};

/// The agent, or everything wrong with it.
struct agent_building {
  std::optional<superstep::agent> agent; ///< set when there is no fault
  std::vector<agent_fault> faults;
  std::vector<std::string> notes; ///< what the user should know: torn lines of recordings
  std::vector<agent_fault> warnings; ///< what is dangerous but works, e.g. a key over plain http
};

/// How deep agents may call agents.
inline constexpr std::size_t agent_depth_max = 8;
/// How many files one agent may be made of.
inline constexpr std::size_t agent_files_max = 64;

/// Makes model and tools of what a file says, sub-agents and what they are made of included; a file
/// that is named more than once is one agent, whose limits hold for all who call it. `reading` may
/// have faults already, then the rest is looked at all the same, so that all of them are told at
/// once.
[[nodiscard]] agent_building build_agent(agent_reading reading,
                                         const std::shared_ptr<io_runtime>& io);

class agent;

/// Returns what is wrong with the machine for an agent and the agents below it: programs of
/// `command` tools that do not exist or cannot be executed, folders that do not exist, sandboxes
/// that cannot be made, a kernel without pidfd_open(2). To be asked before the first row: a program
/// that cannot be started later fails its run, and the model gets no result.
///
/// Blocks while sandboxes are tried. A shortage of the machine is not a fault of the set-up.
[[nodiscard]] std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io);

/// Returns agent::graph() with a place for its threads: they are saved by `checkpointer`, and
/// `memory` is the agent's long-term memory (the key `store` of the file names its database); null:
/// none.
///
/// The model gets the run's id with each call: use one run_id for all runs of a thread.
[[nodiscard]] compiled_graph<chat_state>
make_conversation(const agent& from, std::shared_ptr<superstep::checkpointer> checkpointer,
                  std::shared_ptr<store> memory = {});

/// Where a conversation stands.
struct conversation_state {
  message_list messages;
  std::vector<interrupt> questions; ///< what the thread waits for; see human_interrupt
  bool is_unfinished = false;       ///< something is left to run, with or without an answer
};
/// Not while a run is on the thread. Throws graph_error and checkpoint_error.
[[nodiscard]] conversation_state look_at(const compiled_graph<chat_state>& conversation,
                                         const std::string& thread_id);

} // namespace superstep
