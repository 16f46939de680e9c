// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/react_agent.hpp>
#include <superstep/net/io_context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// An agent that is ready to run: what its file says, with model and tools made.
///
/// Immutable and cheap to copy; the io_runtime it was made with outlives its runs.
class agent {
public:
  agent(agent_spec spec, chat_model_ptr model, tool_list tools);

  [[nodiscard]] const agent_spec& spec() const noexcept { return spec_; }
  [[nodiscard]] const chat_model_ptr& model() const noexcept { return model_; }
  [[nodiscard]] const tool_list& tools() const noexcept { return tools_; }
  [[nodiscard]] const compiled_graph<chat_state>& graph() const noexcept { return graph_; }

  // What guards the journal of a job: texts that differ when results may differ.
  [[nodiscard]] std::string fingerprint() const;       ///< prompt, version, limits of a run
  [[nodiscard]] std::string tools_fingerprint() const; ///< definitions of the tools

private:
  agent_spec spec_;
  chat_model_ptr model_;
  tool_list tools_;
  compiled_graph<chat_state> graph_;
};

/// The agent, or everything wrong with it.
struct agent_building {
  std::optional<superstep::agent> agent; ///< set when there is no fault
  std::vector<agent_fault> faults;
};

/// Makes model and tools of what a file says; `reading` may have faults already, then the rest is
/// looked at all the same, so that all of them are told at once.
[[nodiscard]] agent_building build_agent(agent_reading reading,
                                         const std::shared_ptr<io_runtime>& io);

} // namespace superstep
