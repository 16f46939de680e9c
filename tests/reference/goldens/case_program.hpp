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

/// Number of starts of the programs and models of one case. Thread-safe.
class start_counts {
public:
  std::int64_t start(const std::string& name);
  [[nodiscard]] json::object all() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
};

/// The end of a program's run: the values that it set, and the op that produced its result.
struct program_end {
  graph_cases::scope in;
  json::object set;
  std::vector<json_target> go_to;
  const json::object* result = nullptr; ///< null if the program ended without a result
};

/// Runs a program's or tool's op on the store. Throws std::logic_error if there is no store.
void run_store(const json::object& op, graph_cases::scope& in, store* memory);

/// Returns the targets of a goto or a branch: a name, a Send, or a list of these.
[[nodiscard]] std::vector<json_target> targets_of(const json::value& v);

/// Runs the ops of a program. The ops and everything that `in` points to must outlive the run.
[[nodiscard]] task<program_end> run_program(const json::array& ops, graph_cases::scope in,
                                            runtime rt);

/// Converts the end of a program to the result of a hook or a graph node.
[[nodiscard]] json_command node_result(program_end end);

/// A program as a node body; its starts are counted under `name`.
struct node_of_case {
  std::string name;
  json::array ops;
  std::shared_ptr<start_counts> counts;

  [[nodiscard]] task<json_command> run(json::value state, runtime rt) const;
};

} // namespace superstep::conformance
