// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/messages/message_template.hpp>
#include <superstep/models/detail/price_table.hpp>
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
#include <superstep/tools/tool_node.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

/// The model of an agent file: the type of its options selects the kind of model. monostate if the
/// file has no valid `model`.
using model_spec = std::variant<std::monostate, recorded_model_options, scripted_model_options,
                                provider_model_options, replayed_model_options>;

/// The options of a tool that is another agent file.
struct sub_agent_options {
  std::string name{};        ///< name of the tool
  std::string description{}; ///< text for the model; empty: a default text with the agent's name
  std::string file{};        ///< path of the agent file
  std::optional<std::chrono::milliseconds>
      timeout{}; ///< maximum duration of one call; unset: no limit
};

/// One tool of an agent file, with its place in the file for error messages.
struct tool_spec {
  std::variant<calculator_options, current_time_options, http_get_options, sqlite_query_options,
               read_file_options, command_options, simulated_options, remember_options,
               recall_options, sub_agent_options>
      options;                                     ///< their type selects the kind of tool
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
  std::int64_t tokens_max = 8'000; ///< maximum estimated tokens; the last turn is always read
};

/// Options of the hook `summarise`: a summary replaces the older turns of a long conversation.
struct summary_spec {
  std::int64_t tokens_max = 8'000; ///< estimated tokens above which a summary is made
  std::size_t messages_kept = 20;  ///< newest messages to keep, extended to the start of their turn
  /// The instruction that asks the model for the summary.
  std::string prompt = "Summarise the conversation. Keep names, numbers, decisions and what is "
                       "still to be done. Answer with the summary alone.";
};

/// Limits of an agent over all its runs in one process; unset: no limit. In the file, 0 means no
/// limit.
struct agent_limits {
  std::optional<std::size_t> model_calls = 256; ///< model calls in flight
  std::optional<std::size_t> tool_calls = 256;  ///< tool calls in flight
  std::optional<std::int64_t> rpm{};            ///< model requests per minute
  std::optional<std::int64_t> tpm{};            ///< model tokens per minute, input and output
  std::string share{}; ///< the database in which processes share `rpm` and `tpm`; empty: none
  std::vector<tool_limit> tools{};                     ///< calls in flight of single tools
  std::size_t tools_line = 0;                          ///< line of the key `limits.tools`
  std::optional<std::size_t> calls_per_answer = 1'000; ///< tool calls in one answer of the model
  /// Bytes of answers that are being received.
  std::optional<std::size_t> answer_bytes = 64 * 1024 * 1024;
  bool adaptive = true; ///< reduces the model calls in flight while the provider is overloaded
  std::optional<std::chrono::milliseconds> row_deadline{}; ///< duration of one run
};

/// The answer cache of an agent; docs/agent-file.md describes it.
struct cache_spec {
  std::string path;                               ///< the SQLite file
  std::int64_t bytes_max = std::int64_t{1} << 30; ///< maximum size; then old answers are deleted
  bool with_sampled = false; ///< whether answers of a temperature above 0 are cached
};

/// The content of an agent file; docs/agent-file.md describes every key. Members whose names end in
/// `_line` are line numbers for error messages.
struct agent_spec {
  std::string name;     ///< name of the agent, its graph and its AI messages
  model_spec model;     ///< kind and options of the model
  std::string record;   ///< journal file that records the model's answers; empty: none
  std::string protocol; ///< format of tool calls in plain text; empty: the model's own API
  std::uint32_t protocol_retries = 1; ///< see protocol_options::retries
  unclosed_calls protocol_unclosed =
      unclosed_calls::complete;              ///< treatment of calls without an end
  std::string prompt;                        ///< system prompt; empty: none
  react_version version = react_version::v2; ///< shape of the agent's loop
  std::uint32_t recursion_limit =
      default_recursion_limit;  ///< maximum number of super-steps per run
  std::vector<tool_spec> tools; ///< tools in the order of the file
  /// The key `tools` as canonical JSON, for tools_fingerprint(). It contains options that are not
  /// part of the tools' definitions.
  std::string tools_text;
  std::vector<std::string> early_tools;  ///< names; see agent_options::early_tools
  std::size_t early_tools_line = 0;      ///< line of the key `early_tools`
  std::vector<review_spec> reviews;      ///< tools whose calls are reviewed
  std::optional<trim_spec> trim;         ///< hook that shortens the input; excludes `summarise`
  std::optional<summary_spec> summarise; ///< hook that writes summaries; excludes `trim`
  std::size_t hooks_line = 0;            ///< line of the key `hooks`
  std::optional<json::object> response;  ///< JSON Schema of the structured response
  /// The technique that makes the model give the structured response.
  structured_method response_method = structured_method::json_schema;
  strict_mode response_strict = strict_mode::automatic; ///< see response_format::strict
  std::uint32_t response_retries = 2;                   ///< see response_format::retries
  /// The model call that requests the response; by_rules: in the answer if possible, otherwise
  /// separate.
  superstep::response_request response_request = superstep::response_request::by_rules;
  std::size_t response_line = 0; ///< line of the key `response`
  /// Messages of the rows of a batch, filled with their columns; not set: rows contain messages.
  std::optional<message_template> input;
  std::size_t input_line = 0; ///< line of the key `input`
  /// Path of the long-term memory's database, or its URL `postgresql://…`; empty: none.
  std::string store;
  std::size_t store_line = 0;      ///< line of the key `store`
  std::optional<cache_spec> cache; ///< answer cache of the model
  std::size_t cache_line = 0;      ///< line of the key `cache`
  agent_limits limits;             ///< limits over all runs of the agent
  price_table prices;              ///< prices that replace those of price_table::built_in()
  std::string file;                ///< path of the agent file as given by the caller; for messages
  std::size_t model_line = 0;      ///< line of the key `model`
  /// The keys of the file after the overrides, dotted, with their values as canonical JSON. Keys
  /// below the fourth level are part of the value of the key above. A batch job stores digests of
  /// them to name the keys that have changed.
  std::vector<std::pair<std::string, std::string>> keys{};
  /// Dotted keys that overrides changed; errors about them do not refer to a line of the file.
  std::vector<std::string> overridden{};
};

/// One error of an agent file.
struct agent_fault {
  std::string file;     ///< path of the file, or "--set" for an error of an override
  std::size_t line = 0; ///< line number from 1; 0 if the error belongs to no line
  std::string key;      ///< dotted path, e.g. `tools.1.command.argv`
  std::string text;     ///< what is wrong, and what is expected instead
  /// The cause, if the system or a reader reported one. If is_shortage(code), the file may be
  /// valid: the machine lacked a resource, and reading it again later may succeed.
  std::error_code code{};

  friend bool operator==(const agent_fault&, const agent_fault&) = default;
};

/// Formats one error as a line: `agent.yaml:7: model.path: is missing; it is required`. May be
/// called from any thread.
[[nodiscard]] std::string to_text(const agent_fault&);
/// Formats several errors, one per line, without a trailing newline; empty if there are none. May
/// be called from any thread.
[[nodiscard]] std::string to_text(const std::vector<agent_fault>&);
/// Whether the code of any error is a shortage; see is_shortage(). May be called from any thread.
[[nodiscard]] bool has_shortage(const std::vector<agent_fault>&) noexcept;

/// The uses of an agent that build_agent() makes.
enum class agent_use : std::uint8_t {
  run,   ///< its models send requests
  check, ///< its models send no request; an API key that is not set is a warning
  /// Its models send no request. They need no API keys, and open no recording, answer cache or
  /// shared limits. For programs that only show the agent, for example as a picture.
  show,
};

/// A parsed agent file and all its errors. Use the spec only if `faults` is empty.
struct agent_reading {
  agent_spec spec;                 ///< the parts of the file that could be read
  std::vector<agent_fault> faults; ///< errors in the order of the file; empty if it is valid
  agent_use use = agent_use::run;
};

/// The maximum size of an agent file, in bytes.
inline constexpr std::size_t agent_file_bytes_max = std::size_t{1} << 20;

/// Reads an agent file in the format of docs/agent-file.md. Does not throw, and may be called from
/// any thread.
///
/// @param path the file; relative paths in it, and in the overrides, are relative to its folder
/// @param overrides texts `key.path=value` that replace values of the file. The value is YAML;
/// numbers in the path are indexes of lists.
/// @return the spec and all errors; a file that cannot be read is one of them
[[nodiscard]] agent_reading read_agent_file(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

/// Reads an agent file from memory, like read_agent_file(). Does not throw, and may be called from
/// any thread.
/// @param text the content, in the format of docs/agent-file.md
/// @param name replaces the path in errors
/// @param folder base of relative paths
/// @param overrides see read_agent_file()
/// @return the spec and all errors
[[nodiscard]] agent_reading read_agent_text(std::string_view text, const std::string& name,
                                            const std::string& folder,
                                            const std::vector<std::string>& overrides = {});

class agent;
class call_activity;

/// An agent that another agent calls as a tool.
struct sub_agent {
  std::string tool;                              ///< name of the tool
  std::shared_ptr<const superstep::agent> agent; ///< the agent that the tool runs
};

/// A runnable agent, built from an agent file: its spec, model, tools and compiled graph.
///
/// Immutable and cheap to copy. The io_runtime that it was built with must outlive it and its runs.
/// @par Threads
/// All members may be called by any number of threads.
class agent {
public:
  /// Compiles the graph of the agent. Most callers use build_agent(), which makes the parts.
  /// @param spec a spec without errors
  /// @param model must not be null
  /// @param tools the tools of the spec, in its order
  /// @param sub_agents the agents among `tools`
  /// @throws compile_error if the parts do not fit each other
  agent(agent_spec spec, chat_model_ptr model, tool_list tools,
        std::vector<sub_agent> sub_agents = {});

  /// The spec that the agent was built from.
  [[nodiscard]] const agent_spec& spec() const noexcept { return spec_; }
  /// The model, wrapped in the limits and the tool-call protocol of the spec.
  [[nodiscard]] const chat_model_ptr& model() const noexcept { return model_; }
  /// The tools that the model may call, in the order of the file.
  [[nodiscard]] const tool_list& tools() const noexcept { return tools_; }
  /// The agents among the tools.
  [[nodiscard]] const std::vector<sub_agent>& sub_agents() const noexcept { return sub_agents_; }
  /// The graph that runs the agent for batch rows. It has no checkpointer; make_conversation()
  /// makes a graph that has one.
  [[nodiscard]] const compiled_graph<chat_state>& graph() const noexcept { return graph_; }

  /// Returns a text that differs if the name, prompt, version, recursion limit, response, input or
  /// trim hook of two agents differ. Batch jobs store it to detect that a job is resumed with a
  /// different agent.
  [[nodiscard]] std::string fingerprint() const;
  /// Returns a text that differs if the definitions or options of the tools differ, or if a
  /// sub-agent differs. Used like fingerprint().
  [[nodiscard]] std::string tools_fingerprint() const;

private:
  agent_spec spec_;
  chat_model_ptr model_;
  tool_list tools_;
  std::vector<sub_agent> sub_agents_;
  compiled_graph<chat_state> graph_;
};

/// The result of build_agent(): an agent, or every error of its file.
struct agent_building {
  std::optional<superstep::agent> agent; ///< set if `faults` is empty
  std::vector<agent_fault> faults;       ///< every error, each with file, line and key
  std::vector<std::string> notes;        ///< repairs that were made, e.g. an incomplete last line
  std::vector<agent_fault> warnings;     ///< unsafe but valid settings, e.g. a key over plain HTTP
  /// Counts the calls of the models of the agent and its sub-agents that wait or are repeated.
  std::shared_ptr<const call_activity> activity{};
};

/// The maximum depth of agents that call agents.
inline constexpr std::size_t agent_depth_max = 8;
/// The maximum number of files that one agent and all its sub-agents may consist of.
inline constexpr std::size_t agent_files_max = 64;

/// Creates the model, the tools and the sub-agents that an agent file describes.
///
/// An agent file that several tools refer to becomes one agent, so its limits apply to all callers
/// together. If `reading` has errors, the rest is still checked, so that all errors are reported at
/// once. Reads the files of models, recordings and sub-agents; sends no request. Does not throw,
/// and may be called from any thread.
///
/// @param reading the result of read_agent_file()
/// @param io runs connections and programs; must outlive the agent, its graphs and their runs
/// @return the agent, or all errors in `faults`
[[nodiscard]] agent_building build_agent(agent_reading reading,
                                         const std::shared_ptr<io_runtime>& io);

class agent;

/// Checks that this machine can run an agent and its sub-agents. Finds programs of `command` tools
/// that do not exist or are not executable, folders of `command` tools and of `store.path` that do
/// not exist, unknown time zones, sandboxes that cannot be created, and a kernel without
/// pidfd_open(2). Call it before the first run: a program that cannot be started later fails its
/// run, and the model gets no result.
///
/// May be called from any thread except that of `io`. Blocks while it tries to start sandboxes. A
/// temporary shortage of descriptors, processes or memory is not reported.
/// @param checked the agent to check
/// @param io runs the programs that test the sandboxes
/// @return the errors, each with file, line and key; empty if there are none
[[nodiscard]] std::vector<agent_fault> find_setup_faults(const agent& checked, io_runtime& io);

/// Checks that this machine can run the tools of one agent file, without its sub-agents. The checks
/// are those of find_setup_faults() above. They also work for a file with errors, for which
/// build_agent() does not create an agent. May be called from any thread except that of `io`;
/// blocks while it tries to start sandboxes.
/// @param checked the spec of the file; tools that could not be read are missing in it
/// @param io runs the programs that test the sandboxes
/// @return the errors, each with file, line and key; empty if there are none
[[nodiscard]] std::vector<agent_fault> find_setup_faults(const agent_spec& checked, io_runtime& io);

/// Compiles the graph of an agent with a checkpointer, for conversations that are saved in threads.
/// May be called from any thread.
///
/// The run_id of a run is passed to the model with each call, as model_request::run_key. Recordings
/// are selected by it, so use one run_id for all runs of a thread.
///
/// @param checkpointer stores the threads; shared by the graph; must not be null
/// @param memory the agent's long-term memory, shared by the graph; null: none. Callers open the
/// database that the key `store` of the agent file names.
/// @return the graph. It shares the agent's model and tools, so it may outlive `from`.
/// @throws compile_error if the parts do not fit each other
[[nodiscard]] compiled_graph<chat_state>
make_conversation(const agent& from, std::shared_ptr<superstep::checkpointer> checkpointer,
                  std::shared_ptr<store> memory = {});

/// The state of a conversation between two runs.
struct conversation_state {
  message_list messages;            ///< all messages of the thread
  std::vector<interrupt> questions; ///< pending interrupts; see human_interrupt
  bool is_unfinished = false;       ///< whether the thread has nodes left to run
};
/// Returns the current state of a conversation; empty if the thread does not exist. May be called
/// from any thread, but not while a run uses `thread_id`.
/// @param conversation the graph from make_conversation()
/// @param thread_id id of the thread
/// @throws graph_error or checkpoint_error if the thread cannot be read
[[nodiscard]] conversation_state look_at(const compiled_graph<chat_state>& conversation,
                                         const std::string& thread_id);

} // namespace superstep
