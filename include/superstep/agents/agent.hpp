// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_context.hpp>
#include <superstep/agents/agent_state.hpp>
#include <superstep/net/io_context.hpp>
#include <superstep/runtime/graph.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

class agent;

/// An agent that another agent calls as a tool.
struct sub_agent {
  std::string tool; ///< name of the tool
  std::shared_ptr<const superstep::agent> agent;
};

/// A runnable agent, built from an agent file: its spec, model, tools and compiled graph.
///
/// Immutable and cheap to copy. The io_runtime that it was built with must outlive its runs.
/// @par Threads
/// All members may be called by any number of threads.
class agent {
public:
  /// Compiles the graph of the agent. Most callers use build_agent().
  /// @param model must not be null
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
  /// The graph that runs the agent for batch rows; without a checkpointer. See make_conversation().
  [[nodiscard]] const compiled_graph<chat_state>& graph() const noexcept { return graph_; }

  /// Returns a text that differs if the prompt, version or limits differ. Batch jobs store it to
  /// detect that a job is resumed with a different agent.
  [[nodiscard]] std::string fingerprint() const;
  /// Returns a text that differs if the definitions or options of the tools, or a sub-agent,
  /// differ.
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
};

/// The maximum depth of agents that call agents.
inline constexpr std::size_t agent_depth_max = 8;
/// The maximum number of agent files that one agent may consist of.
inline constexpr std::size_t agent_files_max = 64;

/// Creates the model, the tools and the sub-agents that an agent file describes.
///
/// A file that is referred to more than once becomes one agent, whose limits apply to all callers
/// together. If `reading` has errors, the rest is still checked, so that all errors are reported at
/// once. Reads the files of models, recordings and sub-agents; sends no request.
///
/// @param reading the result of read_agent_file()
/// @param io runs connections and programs; kept by the agent's tools, and must outlive its runs
/// @return the agent, or all errors in `faults`
[[nodiscard]] agent_building build_agent(agent_reading reading,
                                         const std::shared_ptr<io_runtime>& io);

} // namespace superstep
