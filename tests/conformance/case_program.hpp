// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_cases/expression.hpp"

#include <superstep/checkpoint/store.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace superstep::conformance {

/// How often programs and models of one case have started. Any thread.
class start_counts {
public:
  std::int64_t start(const std::string& name);
  [[nodiscard]] json::object all() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
};

/// How a program ended: what was set on the way, and the op that gave the result.
struct program_end {
  graph_cases::scope in;
  json::object set;
  std::vector<json_target> go_to;
  const json::object* result = nullptr; ///< null: it just ended
};

/// An op of a program, or of a tool's, on long-term memory. Throws std::logic_error without one.
void run_store(const json::object& op, graph_cases::scope& in, store* memory);

/// Targets as a goto or a branch gives them: a name, a Send, or a list of these.
[[nodiscard]] std::vector<json_target> targets_of(const json::value& v);

/// Runs the ops of a program. What `in` points to outlives the run, as do the ops.
[[nodiscard]] task<program_end> run_program(const json::array& ops, graph_cases::scope in,
                                            runtime rt);

/// The result of a hook or a node of a graph.
[[nodiscard]] json_command node_result(program_end end);

/// A program as the body of a node; its starts are counted under `name`.
struct node_of_case {
  std::string name;
  json::array ops;
  std::shared_ptr<start_counts> counts;

  [[nodiscard]] task<json_command> run(json::value state, runtime rt) const;
};

} // namespace superstep::conformance
