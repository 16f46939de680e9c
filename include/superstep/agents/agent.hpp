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

} // namespace superstep
