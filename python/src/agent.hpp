// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"
#include "results.hpp"
#include "run_options.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::python {

class row_window;
struct row_window_options;

/// Reads the input of a run: a list of messages; None, which resumes the thread; or a tuple with
/// one resume value. Needs the GIL.
[[nodiscard]] detail::run_input read_agent_input(const compiled_graph<chat_state>& graph,
                                                 nb::handle input);
/// Whether the checkpointer of an agent has a checkpoint of a thread. Blocks the calling thread.
[[nodiscard]] bool has_checkpoint(const compiled_graph<chat_state>& graph,
                                  const std::string& thread_id);

/// The result of a run of an agent: the class superstep.AgentResult. Its parts are converted to
/// Python objects when they are read. The members need the GIL.
class agent_result {
public:
  explicit agent_result(run_result<chat_state> from) : result_{std::move(from)} {}

  [[nodiscard]] const char* status() const noexcept { return status_name(result_.status); }
  [[nodiscard]] nb::object text() const;
  [[nodiscard]] nb::list messages() const;
  [[nodiscard]] std::string messages_json() const;
  [[nodiscard]] nb::object structured_response() const;
  [[nodiscard]] nb::dict usage() const;
  [[nodiscard]] nb::list interrupts() const { return to_python(result_.interrupts); }
  [[nodiscard]] std::uint32_t model_calls() const noexcept { return result_.state.model_calls; }
  [[nodiscard]] std::uint32_t tool_calls() const noexcept { return result_.state.tool_calls; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return result_.stats.steps; }
  /// Returns the exception of a failed run, once; None if it did not fail.
  [[nodiscard]] nb::object take_error();
  /// Whether the state has a part: "messages", or "structured_response" if the agent has given one.
  [[nodiscard]] bool has(const std::string& key) const noexcept;
  /// Returns the names of these parts.
  [[nodiscard]] nb::list keys() const;
  /// Returns these parts.
  [[nodiscard]] nb::dict as_dict() const;
  /// Returns a part of the state. Throws nb::key_error if it does not have the part.
  [[nodiscard]] nb::object at(const std::string& key) const;
  /// Returns a part of the state, or `otherwise` if it does not have the part.
  [[nodiscard]] nb::object get(const std::string& key, nb::object otherwise) const;
  /// Returns how the run ended, the number of messages and the beginning of the text.
  [[nodiscard]] nb::object repr() const;
  /// Returns the result as JSON text, for pickle. It does not contain the exception of a failed
  /// run, which is delivered separately.
  [[nodiscard]] std::string packed() const;
  /// Makes a result from a text that packed() has returned. Throws nb::value_error for another one.
  [[nodiscard]] static agent_result from_packed(std::string_view text);

  std::int64_t index = 0; ///< position of the input in a batch

private:
  run_result<chat_state> result_;
};

/// An agent that is ready to run. The members need the GIL.
class native_agent {
public:
  /// Builds the agent of an agent file, with further tools. Throws nb::value_error with all faults
  /// of the file.
  /// @param text the content of the file
  /// @param name the path of the file, for errors
  /// @param folder base of relative paths in the file
  /// @param overrides see read_agent_file()
  /// @param middleware see read_middleware()
  /// @param memory replaces the store of the file; null: none
  native_agent(const std::string& text, const std::string& name, const std::string& folder,
               const std::vector<std::string>& overrides, nb::list tools, nb::list middleware,
               std::shared_ptr<superstep::checkpointer> checkpointer,
               std::shared_ptr<store> memory);
  /// Builds an agent like create_agent().
  /// @param options a dict with the members of agent_options; `model` is a text or a Python
  /// function with the attributes function, is_async and name
  native_agent(nb::dict options, nb::list tools,
               std::shared_ptr<superstep::checkpointer> checkpointer,
               std::shared_ptr<store> memory);

  /// Starts a run. Its result, an agent_result, is delivered to the queue. With stream modes, its
  /// events are delivered before, as (mode, payload).
  /// @param input see read_agent_input()
  started_run start(nb::handle input, nb::dict options, delivery to,
                    const std::vector<std::string>& modes) const;
  /// Returns an object that runs the agent over blocks of rows; see row_window.
  /// @param options of the runs; `window` has the other options
  [[nodiscard]] std::shared_ptr<row_window> open_rows(nb::dict options, row_window_options window,
                                                      result_queue_ptr to) const;
  /// Returns the messages for a row of a batch: the key `input` of the agent file with the columns
  /// of the row. None if the file does not have the key.
  [[nodiscard]] nb::object messages_of_row(nb::dict row) const;
  /// Whether the checkpointer has a checkpoint of a thread.
  [[nodiscard]] bool has_thread(const std::string& thread_id) const;
  /// Returns the state of a thread; see native_graph::get_state().
  [[nodiscard]] nb::object get_state(nb::dict options) const;
  [[nodiscard]] nb::list get_state_history(nb::dict options, std::size_t limit) const;
  /// Writes messages or a structured response to a thread. Returns the id of the new checkpoint.
  std::string update_state(nb::dict options, nb::handle values, const std::string& as_node) const;
  [[nodiscard]] std::string mermaid() const { return graph_->mermaid(); }
  /// The Python functions of the agent, for the garbage collector.
  [[nodiscard]] const std::vector<shared_object>& functions() const noexcept { return functions_; }

private:
  [[nodiscard]] tool_list make_tools(nb::list specs);
  [[nodiscard]] run_config config_of(nb::dict options) const;

  void set_graph(compiled_graph<chat_state> made);

  std::optional<compiled_graph<chat_state>> graph_;
  kept_in_child<std::optional<compiled_graph<chat_state>>> kept_; // its models have threads
  std::uint32_t recursion_limit_ = default_recursion_limit;
  std::optional<message_template> input_;
  std::vector<shared_object> functions_;
};

} // namespace superstep::python
