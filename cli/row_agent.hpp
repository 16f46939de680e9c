// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent.hpp>
#include <superstep/agents/agent_options.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace superstep::cli {

/// An agent whose rows go through hooks or end with a structured response: the graph that
/// conversations have, with what a batch wants to know counted beside it, since its state has no
/// fields for that. Outlives its runs; copies of its model share the counts.
class row_agent {
public:
  explicit row_agent(const agent& from);
  row_agent(const row_agent&) = delete;
  row_agent& operator=(const row_agent&) = delete;

  /// Whether an agent needs this graph; else agent::graph() does at lower cost.
  [[nodiscard]] static bool is_needed(const agent_spec&) noexcept;
  [[nodiscard]] const compiled_graph<messages_state>& graph() const noexcept { return graph_; }

  struct counts {
    token_usage usage{};
    std::uint32_t model_calls = 0;
  };
  /// Runs by their ids, which differ while they are under way.
  class running {
  public:
    void begin(const std::string& run, std::shared_ptr<const agent_context> asked);
    /// What the run was told; null: it has ended.
    [[nodiscard]] std::shared_ptr<const agent_context> context_of(const std::string& run) const;
    void add(const std::string& run, const message& answer);
    [[nodiscard]] counts end(const std::string& run);

  private:
    struct entry {
      std::shared_ptr<const agent_context> asked;
      counts counted;
    };
    mutable std::mutex mutex_;
    std::unordered_map<std::string, entry> by_run_;
  };
  [[nodiscard]] const std::shared_ptr<running>& runs() const noexcept { return runs_; }

private:
  std::shared_ptr<running> runs_;
  compiled_graph<messages_state> graph_;
};

} // namespace superstep::cli
